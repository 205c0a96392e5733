"""The first credential of a store."""

from pathlib import Path

import pytest

from tenure.core.errors import InvalidConfig
from tenure.settings import ServerSettings, server_settings
from tenure.system.ids import SystemIds
from tenure.wiring.credential import admin_token

IDS = SystemIds()


def settings(folder: Path, **environment: str) -> ServerSettings:
    return server_settings(environment, store=f"sqlite:///{folder}/a.db")


def test_the_given_token_is_taken_and_nothing_is_written(tmp_path: Path) -> None:
    assert admin_token(settings(tmp_path, TENURE_ADMIN_TOKEN="tnr_given"), IDS) == "tnr_given"
    assert not list(tmp_path.iterdir())


def test_a_generated_token_is_kept_in_a_private_file(tmp_path: Path) -> None:
    """C118."""
    token = admin_token(settings(tmp_path), IDS)
    kept = tmp_path / "a.db.token"
    assert kept.read_text() == token + "\n"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert admin_token(settings(tmp_path), IDS) == token


def test_the_file_may_be_somewhere_else(tmp_path: Path) -> None:
    elsewhere = server_settings({}, store=f"sqlite:///{tmp_path}/a.db", token_file=str(tmp_path / "mine"))
    token = admin_token(elsewhere, IDS)
    assert (tmp_path / "mine").read_text() == token + "\n"


@pytest.mark.parametrize("content", [b"", b"\n", b"two words\n", b"\xff\xfe", "ümlaut".encode()])
def test_a_file_that_holds_no_credential_is_refused_and_left_as_it_is(content: bytes, tmp_path: Path) -> None:
    kept = tmp_path / "a.db.token"
    kept.write_bytes(content)
    with pytest.raises(InvalidConfig, match=r"--token-file: .*a\.db\.token"):
        admin_token(settings(tmp_path), IDS)
    assert kept.read_bytes() == content


def test_a_file_in_the_way_is_told_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.db.token").mkdir()
    with pytest.raises(InvalidConfig, match="Is a directory"):
        admin_token(settings(tmp_path), IDS)


def test_a_folder_that_cannot_be_written_is_told_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="cannot be written: No such file or directory"):
        admin_token(settings(tmp_path / "none"), IDS)
