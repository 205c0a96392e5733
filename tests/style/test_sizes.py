"""Files and functions stay small enough to be read at once, as in the code bases that we like to read."""

import statistics

import pytest

from tests.style.tree import Source, functions, length, sources

FILE_LIMIT = 600
FILE_SOFT_LIMIT = 400
OVER_SOFT_SHARE = 0.1
FUNCTION_LIMIT = 70
FUNCTION_MEDIAN = 8
FUNCTION_P95 = 40
VAGUE_NAMES = {
    "utils",
    "util",
    "helpers",
    "helper",
    "common",
    "base",
    "manager",
    "misc",
    "shared",
    "core_utils",
}
CODE = sources("src", "tests", "tools", "bench", "examples")
DECISIONS = "\n".join(source.text for source in sources("docs/decisions", suffix=".md"))


@pytest.mark.parametrize("source", CODE, ids=lambda source: source.path)
def test_a_file_over_the_limit_has_a_decision_that_names_it(source: Source) -> None:
    size = len(source.lines)
    assert size <= FILE_LIMIT or source.path in DECISIONS, f"{source.path} has {size} lines"


def test_few_files_are_over_the_soft_limit() -> None:
    over = {source.path: len(source.lines) for source in CODE if len(source.lines) > FILE_SOFT_LIMIT}
    assert len(over) <= OVER_SOFT_SHARE * len(CODE), f"over {FILE_SOFT_LIMIT} lines: {over}"


@pytest.mark.parametrize("source", CODE, ids=lambda source: source.path)
def test_a_function_fits_on_a_screen(source: Source) -> None:
    over = {f.name: length(f) for f in functions(source) if length(f) > FUNCTION_LIMIT}
    assert not over, f"{source.path}: over {FUNCTION_LIMIT} lines: {over}"


def test_most_functions_are_short() -> None:
    lengths = [length(function) for source in sources("src") for function in functions(source)]
    assert statistics.median(lengths) <= FUNCTION_MEDIAN
    assert statistics.quantiles(lengths, n=20)[-1] <= FUNCTION_P95


def test_a_module_is_named_for_what_is_inside() -> None:
    parts = {part.removesuffix(".py"): source.path for source in CODE for part in source.path.split("/")}
    assert not VAGUE_NAMES & parts.keys(), {name: parts[name] for name in VAGUE_NAMES & parts.keys()}
