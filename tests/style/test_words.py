"""One word per thing: the words that style forbids do not come back in code, SQL or pages."""

import ast
import re

import pytest

from tests.style.tree import Source, sources

# What to say instead. Only words that have no honest second meaning here, or phrases that fix the meaning.
BANNED: dict[str, str] = {
    r"\bjobs?\b": "task; a job is only ever a remote job",
    r"(?:de|en)queued?\b": "claim, or submit",
    r"\b(?:task|work|message)[ _-]queues?\b": "board; a queue is only a label of a task",
    r"\bpick(?:s|ed)?[ _]up\b": "claim",
    r"\bcheck(?:ed)? ?out\b": "claim",
    r"\b(?:visibility|lease|claim)[ _-]timeout\b": "lease, ttl",
    r"\bfencing[ _]token\b": "generation",
    r"\battempt[ _]number\b": "generation, or tries",
    r"\bnode entry\b": "registration",
    r"\b(?:task|job)[ _]type\b": "capability",
    r"\b(?:stuck|stalled|zombie)\b": "unknown, or lease ended",
    r"\brescue[drs]?\b|\breaper\b|\brevived?\b": "recover",
    r"\bkick(?:s|ed)?\b": "displace",
    r"\b(?:cleaner|gc)\b": "janitor",
    r"\bdead[ _-]letter\b": "unknown, or quarantined",
    r"\b(?:ack|nack)_(?:task|claim)\b": "complete, release",
    r"\b(?:finish|close)_(?:task|claim)\b": "settle",
    r"\b(?:pause|stop)_worker\b": "drain",
}
# The remote job service has jobs, and so have those who speak to it.
REMOTE_JOB = re.compile(r"remote[ -]jobs?\b|find_job|Job \| Absent|job[-_ ](?:service|id)s?\b", re.IGNORECASE)
ABOUT_REMOTE_JOBS = ("src/tenure/demo/", "src/tenure/capabilities/", "examples/")
# Rows of product.md's and style.md's kind that name the foreign word on purpose.
NAMES_FOREIGN_WORDS = ("docs/glossary.md",)
TEXTS = [
    *sources("src"),
    *sources("src", suffix=".sql"),
    *sources("docs", suffix=".md"),
    *sources("src", suffix=".html"),
]
VAGUE = re.compile(r"\b(?:failed to|invalid|unexpected|something)\b", re.IGNORECASE)


def spoken(source: Source) -> str:
    """Return the text without what may carry a foreign word honestly."""
    text = REMOTE_JOB.sub("", source.text)
    return (
        re.sub(r"\bjobs?\b", "", text, flags=re.IGNORECASE)
        if source.path.startswith(ABOUT_REMOTE_JOBS)
        else text
    )


@pytest.mark.parametrize("source", TEXTS, ids=lambda source: source.path)
def test_no_banned_word(source: Source) -> None:
    if source.path in NAMES_FOREIGN_WORDS:
        return
    text = spoken(source)
    found = {
        match.group(): f"line {text[: match.start()].count(chr(10)) + 1}: say {instead}"
        for banned, instead in BANNED.items()
        for match in re.finditer(banned, text, re.IGNORECASE)
    }
    assert not found, f"{source.path}: {found}"


@pytest.mark.parametrize("source", sources("src"), ids=lambda source: source.path)
def test_an_error_says_what_is_wrong_in_plain_words(source: Source) -> None:
    raised = [
        node.exc for node in ast.walk(source.parsed()) if isinstance(node, ast.Raise) and node.exc is not None
    ]
    texts = [
        part.value
        for error in raised
        if isinstance(error, ast.Call) and error.args
        for part in ast.walk(error.args[0])
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    vague = [text for text in texts if " " in text.strip() and VAGUE.search(text)]
    assert not vague, f"{source.path}: say what is wrong and the way out instead of {vague}"
