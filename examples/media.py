"""One capability of each rule, as a worker file: `tenure worker --app examples.media:app`."""

import hashlib
from pathlib import Path

from tenure import ABSENT, Absent, App, Attempt, Recovery

app = App("media")


@app.capability("digest", version="1", recovery=Recovery.RECOMPUTE)
def digest(attempt: Attempt, path: str) -> str:
    """Compute from the input alone; after a loss it is computed again."""
    attempt.progress(0, total=1, stage="read")
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@app.capability("copy-lines", version="1", recovery=Recovery.RESUME, window="the last line may be read twice")
def copy_lines(attempt: Attempt, source: str) -> int:
    """Walk items one by one; after a loss it goes on behind the last checkpoint."""
    lines = Path(source).read_text(encoding="utf-8").splitlines()
    done = attempt.resumed_from
    for number in range(done if isinstance(done, int) else 0, len(lines)):
        attempt.progress(number, total=len(lines), stage="copy")
        attempt.checkpoint(number + 1)
    return len(lines)


@app.capability("publish", version="1", recovery=Recovery.QUERY)
def publish(attempt: Attempt, shelf: str, text: str) -> str:
    """Act outside through an effect that can be asked for: after a loss it is found, not repeated."""

    def put(request_id: str) -> str:
        place = Path(shelf) / request_id
        place.write_text(text, encoding="utf-8")
        return place.name

    def find(request_id: str) -> str | Absent:
        return request_id if (Path(shelf) / request_id).exists() else ABSENT

    return attempt.effect("put", params={"text": text}, apply=put, find=find)


@app.capability("charge", version="1", recovery=Recovery.QUERY)
def charge(attempt: Attempt, book: str, cents: int) -> str:
    """Act outside where nobody can be asked: in doubt, a person decides."""

    def pay(request_id: str) -> str:
        with Path(book).open("a", encoding="utf-8") as lines:
            lines.write(f"{request_id} {cents}\n")
        return f"paid {cents}"

    return attempt.effect("pay", params={"cents": cents}, apply=pay)
