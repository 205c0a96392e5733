"""Measuring, indexing and walking, against a folder of known content and against the truth."""

from pathlib import Path

import pytest

from tenure.demo import truth
from tenure.demo.indexing import Mismatch, fetch, index_shard, merge_shards, publish
from tenure.demo.sources import Entry, installation, measure, read_entries, sources, total, write_entries
from tenure.demo.walking import Position, count_reads, walk

CONTENTS = {
    "b.py": b"one two\nthree",
    "a/deep/c.txt": b"",
    "a/z.py": b"x\r\n\xff\xfe y\n",
    "m.toml": b"\n",
    "n.py": b"n " * 1000,
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for path, content in CONTENTS.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    for skipped in ("__pycache__/x.py", "site-packages/y.py", "picture.png"):
        (root / skipped).parent.mkdir(exist_ok=True)
        (root / skipped).write_bytes(b"skipped")
    (root / "link.py").symlink_to(root / "b.py")
    return root


def ignore(_done: int, _there_are: int) -> None:
    """Take progress and keep nothing."""


def test_the_sources_are_the_text_files_in_order(root: Path) -> None:
    assert sources(root) == sorted(CONTENTS)


def test_a_file_is_measured_as_it_is(root: Path) -> None:
    assert measure(root, "b.py") == Entry(
        "b.py", 13, "2e2bf529d7cf77cec165d750c66d6d1617d14adf8e9f4e483864ed0b6c89a221", 2, 3
    )
    assert (measure(root, "a/deep/c.txt").lines, measure(root, "m.toml").lines) == (0, 1)
    assert measure(root, "a/z.py").words == 3


def test_entries_survive_writing(root: Path) -> None:
    entries = [measure(root, path) for path in sources(root)]
    assert read_entries(write_entries(entries)) == entries


@pytest.mark.parametrize("shards", [1, 2, 3, 9])
def test_shards_join_to_the_truth(root: Path, tmp_path: Path, shards: int) -> None:
    work = tmp_path / "work"
    for shard in [*range(shards), 0]:  # running one again changes nothing
        index_shard(root, shard, shards, work, ignore)
    merged = merge_shards(shards, work, ignore)
    assert merged == truth.compute(root).index
    assert total(read_entries(fetch(work, merged.digest))) == merged
    assert not list(work.glob(".partial-*"))


def test_progress_counts_every_file(root: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    index_shard(root, 0, 1, tmp_path / "work", lambda done, there_are: seen.append((done, there_are)), 1e9)
    assert seen == [(done, 5) for done in range(1, 6)]


def test_a_merge_without_all_shards_or_with_a_changed_one_is_refused(root: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    digest = index_shard(root, 0, 2, work, ignore).digest
    with pytest.raises(FileNotFoundError):
        merge_shards(2, work, ignore)
    index_shard(root, 1, 2, work, ignore)
    (work / digest).write_bytes(b"changed")
    with pytest.raises(Mismatch):
        merge_shards(2, work, ignore)


def test_published_content_has_its_digest_for_a_name(tmp_path: Path) -> None:
    digest = publish(tmp_path / "new", b"content")
    assert fetch(tmp_path / "new", digest) == b"content"


@pytest.mark.parametrize("stop", range(len(CONTENTS) + 1))
def test_a_walk_that_is_cut_anywhere_continues_to_the_truth(root: Path, tmp_path: Path, stop: int) -> None:
    """The item after the last position that was kept is read twice, and no other."""
    reads = tmp_path / "reads"
    first = walk(root, None, reads=reads)
    kept = [next(first) for _ in range(stop + 1)][-1]
    next(first, None)  # read, and not kept
    *_, last = walk(root, kept, reads=reads)
    assert last.chain == truth.compute(root).chain
    assert (last.next_item, last.items, last.lines) == (5, 5, truth.compute(root).index.lines)
    assert count_reads(reads) == {item: 2 if item == stop else 1 for item in range(5)}


def test_a_walk_over_another_list_starts_over(root: Path) -> None:
    kept = Position("another", next_item=3, items=4, chain="x")
    *_, last = walk(root, kept)
    assert last.chain == truth.compute(root).chain


def test_the_installation_has_sources_enough_for_a_demo() -> None:
    assert len(sources(installation())) > 500


def test_a_walk_may_stop_after_the_first_items(root: Path) -> None:
    *_, last = walk(root, None, first=2)
    told = truth.compute(root, 2)
    assert (last.next_item, last.items, last.chain) == (2, told.walked, told.chain)
    assert told.chain != truth.compute(root).chain
