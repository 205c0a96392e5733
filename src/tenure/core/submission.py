"""Checks of what a submitter states; each names the field at fault and what would be right.

Contracts: C016 C043 C044.
"""

from collections.abc import Mapping, Sequence

from tenure.core.canonical import canonical
from tenure.core.errors import Invalid
from tenure.core.ids import check_id
from tenure.core.instants import check_ttl
from tenure.core.task import TaskSpec

TASK_ID_MAX = 96
TASKS_MAX = 1_000
LABELS_MAX = 64
TEXT_MAX = 256
COUNT_MAX = 1_000
DAYS_S_MAX = 366 * 86_400.0
LATER = ("concurrency_key", "concurrency_limit", "fairness_key")


def check_spec(spec: TaskSpec, path: str) -> TaskSpec:
    """Return the spec unchanged, or raise `Invalid` at the first field that cannot be."""
    check_name(f"{path}.capability", spec.capability)
    if spec.version is not None:
        check_name(f"{path}.version", spec.version)
    check_id(f"{path}.queue", spec.queue)
    if spec.id is not None and len(check_id(f"{path}.id", spec.id)) > TASK_ID_MAX:
        raise Invalid(f"longer than {TASK_ID_MAX} characters", path=f"{path}.id")
    if spec.key is not None:
        check_name(f"{path}.key", spec.key)
    canonical(spec.input, f"{path}.input")
    check_ttl(f"{path}.lease_ttl_s", spec.lease_ttl_s)
    _check_numbers(spec, path)
    _check_maps(spec, path)
    for name in LATER:
        if getattr(spec, name) is not None:
            raise Invalid("is not offered by this version; leave it out", path=f"{path}.{name}")
    return spec


def check_name(path: str, value: str) -> str:
    """Return a name of 1 to 200 printable characters unchanged, or raise `Invalid`."""
    if not 1 <= len(value) <= 200 or not value.isprintable():
        raise Invalid("use 1 to 200 printable characters", path=path)
    return value


def check_map(path: str, labels: Mapping[str, str]) -> None:
    """Refuse more than 64 labels, and labels that are empty or longer than 256 characters."""
    if len(labels) > LABELS_MAX:
        raise Invalid(f"{len(labels)} labels; at most {LABELS_MAX}", path=path)
    for key, value in labels.items():
        if not key or len(key) > TEXT_MAX or len(value) > TEXT_MAX or "\x00" in key + value:
            raise Invalid(f"use 1 to {TEXT_MAX} characters", path=f"{path}.{key[:40]}")


def cyclic(dependencies: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a cycle among these tasks' dependencies, or an empty list.

    Edges to other tasks cannot close one.
    """
    left = {task: {d for d in below if d in dependencies} for task, below in dependencies.items()}
    free = [task for task, below in left.items() if not below]
    above: dict[str, list[str]] = {}
    for task, below in left.items():
        for dependency in below:
            above.setdefault(dependency, []).append(task)
    while free:
        done = free.pop()
        del left[done]
        for task in above.get(done, ()):
            left[task].discard(done)
            if not left[task]:
                free.append(task)
    return _walk(left) if left else []


def _walk(left: Mapping[str, set[str]]) -> list[str]:
    """Follow dependencies until a task comes again; each task left has one that is left too."""
    trail: list[str] = []
    node = min(left)
    while node not in trail:
        trail.append(node)
        node = min(left[node])
    return [*trail[trail.index(node) :], node]


def _check_numbers(spec: TaskSpec, path: str) -> None:
    for name, low, high in (
        ("priority", -(2**31), 2**31 - 1),
        ("max_attempts", 1, COUNT_MAX),
        ("max_losses", 1, COUNT_MAX),
        ("delay_s", 0, DAYS_S_MAX),
        ("timeout_s", 0.1, DAYS_S_MAX),
        ("silence_s", 0.1, DAYS_S_MAX),
    ):
        value: float | None = getattr(spec, name)
        if value is not None and not low <= value <= high:
            raise Invalid(f"{value:g} is out of range; use {low:g} to {high:g}", path=f"{path}.{name}")
    if spec.delay_s is not None and spec.not_before is not None:
        raise Invalid("is given beside not_before; use one of them", path=f"{path}.delay_s")
    for name in ("not_before", "deadline"):
        instant = getattr(spec, name)
        if instant is not None and instant.tzinfo is None:
            raise Invalid("has no time zone; write it in UTC with Z", path=f"{path}.{name}")
    backoff = spec.backoff
    if not (0 <= backoff.initial_s <= DAYS_S_MAX and 1 <= backoff.factor <= 100):
        raise Invalid("use initial_s of 0 or more and factor from 1 to 100", path=f"{path}.backoff")
    if not 0 <= backoff.max_s <= DAYS_S_MAX:
        raise Invalid(f"use 0 to {DAYS_S_MAX:g}", path=f"{path}.backoff.max_s")


def _check_maps(spec: TaskSpec, path: str) -> None:
    check_map(f"{path}.labels", spec.labels)
    check_map(f"{path}.requires", spec.requires)
    if len(spec.resources) > LABELS_MAX:
        raise Invalid(f"at most {LABELS_MAX} resources", path=f"{path}.resources")
    for name, amount in spec.resources.items():
        if not name or len(name) > TEXT_MAX or not 0 <= amount <= 2**53:
            raise Invalid("use an amount of 0 or more", path=f"{path}.resources.{name[:40]}")
    if len(spec.depends_on) > COUNT_MAX:
        raise Invalid(f"at most {COUNT_MAX} dependencies", path=f"{path}.depends_on")
    for index, dependency in enumerate(spec.depends_on):
        check_id(f"{path}.depends_on[{index}]", dependency)
