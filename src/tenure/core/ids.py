"""Identifiers as distinct types, and their one format.

The pattern is the protocol's: `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`; an attempt's id is `TASK.GENERATION`.
"""

import re
from typing import NewType

from tenure.core.errors import Invalid

TaskId = NewType("TaskId", str)
WorkerId = NewType("WorkerId", str)
InstanceId = NewType("InstanceId", str)
IncarnationId = NewType("IncarnationId", str)
CommandId = NewType("CommandId", str)
EventId = NewType("EventId", str)
AttemptId = NewType("AttemptId", str)
RequestId = NewType("RequestId", str)

ID_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"
_ID = re.compile(ID_PATTERN)


def check_id(path: str, value: str) -> str:
    """Return the id unchanged, or raise `Invalid` that names the field."""
    if _ID.fullmatch(value) is None:
        shown = value if len(value) <= 40 else value[:40] + "…"
        raise Invalid(
            f"{shown!r} is no id; use 1 to 128 letters, digits and . _ : - and begin with no sign",
            path=path,
        )
    return value


def attempt_id(task_id: str, generation: int) -> AttemptId:
    """Make the id of the attempt that executes this claim; a start command carries the same id."""
    return AttemptId(f"{task_id}.{generation}")


def parse_attempt_id(value: str) -> tuple[TaskId, int]:
    """Split an attempt's id into task and generation, or raise `Invalid`."""
    task, _, generation = value.rpartition(".")
    if not task or not generation.isascii() or not generation.isdigit():
        raise Invalid(f"{value!r} is no attempt id; it is TASK.GENERATION", path="attempt_id")
    return TaskId(task), int(generation)
