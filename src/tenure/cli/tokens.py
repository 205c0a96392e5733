"""`tenure token create`, `list` and `revoke`: credentials by role, scoped by queue."""

from typing import Final, get_args

import click
from msgspec import convert

from tenure.cli.exits import Exit, one_of_many
from tenure.cli.options import Connect, to_control_plane
from tenure.cli.output import Output
from tenure.cli.waiting import worst
from tenure.wire.service import Role, TokenRequest

ROLES: Final[tuple[str, ...]] = get_args(Role)
DAY_S: Final = 86_400.0


@click.group(no_args_is_help=True)
def token() -> None:
    """Make, list and revoke credentials; needs an admin's."""


@token.command()
@click.option("--role", required=True, type=click.Choice(ROLES), help="What it may do.")
@click.option("--name", required=True, metavar="TEXT", help="Whose it is; shown in lists and histories.")
@click.option(
    "--queue", "queues", multiple=True, metavar="QUEUE", help="Only for this queue.  [default: all]"
)
@click.option("--days", type=float, metavar="N", help="Expires after so long.  [default: never]")
@to_control_plane
def create(
    out: Output, connect: Connect, role: str, name: str, queues: tuple[str, ...], days: float | None
) -> Exit:
    """Make a credential and print its token, which is shown this once and never again."""
    asked = TokenRequest(
        role=convert(role, Role),
        name=name,
        queues=list(queues) or None,
        expires_in_s=None if days is None else days * DAY_S,
    )
    with connect() as client:
        made = client.create_token(asked)
    if out.json:
        out.document(made)
    else:
        out.say(made.token)
    return Exit.DONE


@token.command(name="list")
@to_control_plane
def list_(out: Output, connect: Connect) -> Exit:
    """List credentials, without their tokens."""
    with connect() as client:
        found = client.tokens()
    if out.json:
        out.document(found)
        return Exit.DONE
    rows = [
        (t.id, t.name, t.role, " ".join(t.queues or ["all"]), t.created_at, t.expires_at, t.revoked_at)
        for t in found
    ]
    out.table(
        ["id", "name", "role", "queues", "created", "expires", "revoked"], rows, nothing="no credentials"
    )
    return Exit.DONE


@token.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@to_control_plane
def revoke(out: Output, connect: Connect, ids: tuple[str, ...]) -> Exit:
    """Revoke credentials now."""
    with connect() as client:

        def one(id_: str) -> Exit:
            client.revoke_token(id_)
            if out.json:
                out.line({"id": id_, "revoked": True})
            else:
                out.say(f"{id_} revoked")
            return Exit.DONE

        return worst([one_of_many(lambda id_=id_: one(id_)) for id_ in ids])
