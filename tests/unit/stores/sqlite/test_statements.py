from dataclasses import dataclass
from pathlib import Path

import pytest

from tenure.core.errors import InvariantBroken
from tenure.stores.sqlite.statements import Statement, load_statements, parse_statements

TWO = """-- What this file is for.

-- name: claim_renew
-- Move the end; only the newest generation may.
-- No row: lost. C019
update task
   set claim_until = :until            -- ends with a semicolon; not here
 where id = :task_id and state = 'a;b:c'
returning claim_until;

-- name: task_count
-- How many there are.
select count(*) from task;
"""


@dataclass(frozen=True, slots=True)
class TwoSql:
    claim_renew: Statement
    task_count: Statement


@dataclass(frozen=True, slots=True)
class OtherSql:
    claim_renew: Statement
    task_list: Statement


def test_a_file_becomes_the_class_that_lists_its_names(tmp_path: Path) -> None:
    (tmp_path / "two.sql").write_text(TWO)
    sql = load_statements(TwoSql, tmp_path / "two.sql")
    assert sql.claim_renew.purpose == "Move the end; only the newest generation may. No row: lost. C019"
    assert sql.claim_renew.parameters == {"until", "task_id"}
    assert sql.claim_renew.text.startswith("update task")
    assert sql.task_count == Statement(
        "task_count", "select count(*) from task;", "How many there are.", frozenset()
    )


def test_a_class_and_a_file_that_differ_are_refused(tmp_path: Path) -> None:
    (tmp_path / "two.sql").write_text(TWO)
    with pytest.raises(InvariantBroken, match=r"two\.sql and OtherSql differ in task_count, task_list"):
        load_statements(OtherSql, tmp_path / "two.sql")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-- name: a\n-- One.\nselect 1;\n-- name: a\n-- Two.\nselect 2;\n", "used twice"),
        ("-- name: A b\n-- One.\nselect 1;\n", "'A b' is no name"),
        ("-- name: a\nselect 1;\n", "no comment"),
        ("-- name: a\n-- One.\nselect 1; select 2;\n", "not exactly one statement"),
        ("-- name: a\n-- One.\nselect 1\n", "not exactly one statement"),
        ("-- name: a\n-- One.\n", "not exactly one statement"),
        ("select 1;\n-- name: a\n-- One.\nselect 1;\n", "text before the first"),
    ],
)
def test_a_file_of_another_form_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvariantBroken, match=words):
        parse_statements(text, "x.sql")
