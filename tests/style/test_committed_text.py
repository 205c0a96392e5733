"""What is committed works on every machine: no paths of one, no addresses of a package index."""

import re

import pytest

from tests.style.tree import ROOT, committed_paths

TEXT_SUFFIXES = (
    ".py",
    ".md",
    ".toml",
    ".lock",
    ".sql",
    ".sh",
    ".html",
    ".css",
    ".js",
    ".json",
    ".yml",
    ".txt",
)
MACHINE_PATH = re.compile(r"(?<![\w.:/-])/(?:home|Users|root|work|opt|srv|farm|mnt)/[\w.-]+")
# Split, so that this file does not name them.
INDEX_HOSTS = "|".join(("py" + r"pi\.", "pythonho" + "sted", "np" + r"mjs\."))
INDEX = re.compile(rf"\b(?:{INDEX_HOSTS})|--(?:extra-)?index-url[ =]\S*:|--find-links[ =]")
TEXTS = [
    name for name in committed_paths() if name.endswith(TEXT_SUFFIXES) or name in {"Makefile", ".ci/run"}
]


@pytest.mark.parametrize("name", TEXTS)
def test_no_machine_and_no_index_is_named(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    found = [*MACHINE_PATH.findall(text), *INDEX.findall(text)]
    assert not found, f"{name} names {found}"


@pytest.mark.parametrize("name", ["requirements/run.lock", "requirements/dev.lock"])
def test_every_locked_package_has_hashes(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    packages = re.findall(r"^\S+==.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    assert packages
    assert all("--hash=sha256:" in package for package in packages)
    assert not re.search(r"^\s*#", text, re.MULTILINE), "a comment would name where it was made"
