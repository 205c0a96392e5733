"""A slice of the kill matrix on real processes. C062 C069 C070 C082 C095 C108 C122."""

from pathlib import Path

import pytest

from tenure.core.faultpoints import FaultPoint
from tests.crash.cells import CANNOT_OCCUR, STAGES, Blow, Cell, Kind, all_cells, expected
from tests.crash.chance import run_round
from tests.crash.slice import SLICE
from tests.crash.trial import run


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(120)  # Bound: two waits of a healed system, and its start and end
@pytest.mark.parametrize("cell", SLICE, ids=str)
def test_nothing_is_lost_and_nothing_is_done_twice(cell: Cell, tmp_path: Path) -> None:
    """B03 B06 B24 B34: struck at a boundary, healed, examined from outside."""
    outcome = run(cell, tmp_path / "cell")
    assert outcome.passed, "\n".join([*outcome.violations, outcome.logs])


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_rig_sees_an_act_that_is_done_twice(tmp_path: Path) -> None:
    """The control of the check: a lying capability must be caught by the same course that the others pass."""
    cell = Cell(FaultPoint.APPLIED, Blow.KILL_SUPERVISOR, Kind.QUERY)
    outcome = run(cell, tmp_path / "cell", app="tests.crash.sabotage:app")
    assert "(query) happened 2 times" in "\n".join(outcome.violations)
    assert len(outcome.violations) == 1


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", range(3))
def test_blows_at_random_moments_lose_nothing_and_repeat_nothing(seed: int, tmp_path: Path) -> None:
    findings = run_round(seed, tmp_path / "round")
    assert findings.passed, "\n".join([*findings.violations, findings.logs])


def test_the_slice_visits_every_point_blow_and_kind() -> None:
    assert {cell.point for cell in SLICE} == set(FaultPoint)
    assert {cell.blow for cell in SLICE} == set(Blow)
    assert {cell.kind for cell in SLICE} == set(Kind)
    assert len(set(SLICE)) == len(SLICE)
    assert not CANNOT_OCCUR.keys() & set(SLICE)


def test_the_table_speaks_about_every_cell() -> None:
    assert set(STAGES) == set(FaultPoint)
    assert all(expected(cell).reason for cell in all_cells())
