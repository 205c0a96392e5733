"""Credentials of people, clients and workers; only digests are kept. C118."""

from dataclasses import dataclass
from pathlib import Path

from tenure.core.instants import from_micros, to_micros
from tenure.ports.credentials import Credential
from tenure.stores.sqlite.control.columns import instant_or_none, json_text, micros
from tenure.stores.sqlite.control.rows import NAMES
from tenure.stores.sqlite.database import Database, Row
from tenure.stores.sqlite.statements import Statement, load_statements


@dataclass(frozen=True, slots=True)
class CredentialsSql:
    """The statements of `credentials.sql`."""

    credential_add: Statement
    credential_of_token: Statement
    credential_all: Statement
    credential_revoke: Statement


SQL = load_statements(CredentialsSql, Path(__file__).parent / "sql" / "credentials.sql")


class SqliteCredentials:
    """Credentials by digest and by id, within one transaction."""

    def __init__(self, database: Database) -> None:
        """Ask this database."""
        self._database = database

    def add(self, credential: Credential) -> None:
        """Keep a credential."""
        self._database.rows(
            SQL.credential_add,
            id=credential.id,
            name=credential.name,
            role=credential.role,
            token_hash=credential.token_hash,
            created_at=to_micros(credential.created_at),
            queues=None if credential.queues is None else json_text(credential.queues),
            expires_at=micros(credential.expires_at),
            revoked_at=micros(credential.revoked_at),
        )

    def by_token(self, token_hash: str) -> Credential | None:
        """Return the credential of this digest, also if expired or revoked."""
        row = self._database.row(SQL.credential_of_token, token_hash=token_hash)
        return None if row is None else _credential(row)

    def all(self) -> list[Credential]:
        """Return every credential, oldest first."""
        return [_credential(row) for row in self._database.rows(SQL.credential_all)]

    def revoke(self, credential_id: str) -> bool:
        """Revoke a credential now; False if there is none of that id."""
        return self._database.change(SQL.credential_revoke, id=credential_id) == 1


def _credential(row: Row) -> Credential:
    return Credential(
        id=row[0],
        name=row[1],
        role=row[2],
        token_hash=row[3],
        created_at=from_micros(row[4]),
        queues=None if row[5] is None else NAMES.read(row[5]),
        expires_at=instant_or_none(row[6]),
        revoked_at=instant_or_none(row[7]),
    )
