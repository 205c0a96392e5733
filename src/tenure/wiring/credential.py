"""The first credential of a store: given by the environment, or kept in a private file beside the store."""

from pathlib import Path
from typing import Final

from tenure.core.errors import InvalidConfig
from tenure.ports.ids import Ids
from tenure.settings import ServerSettings
from tenure.system.files import read_private, write_private

PREFIX: Final = "tnr_k_"


def admin_token(settings: ServerSettings, ids: Ids) -> str:
    """Return the token that shall be an admin's: the given one, that of the file, or a new one in the file.

    The file is written before the store learns of its token. A crash between leaves a file whose token the
    next start makes known; the other order would leave a credential that nobody has.
    """
    if settings.admin_token is not None:
        return settings.admin_token
    kept = _kept(settings.token_path)
    if kept is not None:
        return kept
    token = ids.new_token(PREFIX)
    write_file(settings.token_path, token + "\n")
    return token


def write_file(path: Path, text: str) -> None:
    """Write a private file, or raise `InvalidConfig` that says why it cannot be."""
    try:
        write_private(path, text)
    except OSError as error:
        raise InvalidConfig(f"{path} cannot be written: {error.strerror or error}", path="--store") from error


def _kept(path: Path) -> str | None:
    try:
        text = read_private(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it holds no text"
        raise InvalidConfig(f"{path} cannot be read: {reason}", path="--token-file") from error
    if text is None:
        return None
    token = text.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidConfig(
            f"{path} holds no credential; remove it, and a new one is made", path="--token-file"
        )
    return token
