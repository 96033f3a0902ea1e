"""``lakeshore tokens``: who may do what on a control plane."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dreamlake.lakeshore.cli.opening import NamespaceOption, TokenOption, UrlOption, control_plane
from dreamlake.lakeshore.cli.output import JsonFlag, duration, print_json, print_table
from dreamlake.lakeshore.cli.spans import parse_span
from dreamlake.lakeshore.errors import ConfigError, DispatchError
from dreamlake.lakeshore.suggest import nearest

app = typer.Typer(help="Make, list and revoke tokens of a control plane.", no_args_is_help=True)

SCOPES = ("producer", "worker", "admin", "operator")
_WHAT = "there are tokens"


@app.command("list")
def list_tokens(
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """List the namespace's tokens: what each may do, and whether it still may."""
    with control_plane(url, token, namespace, _WHAT) as (opened, rest):
        rows = rest.tokens()
        now = opened.now()
    if as_json:
        print_json(rows)
        return
    print_table(
        ("ID", "NAME", "SCOPES", "BEGINS", "MADE", "STATE"),
        [
            (
                str(row["id"]),
                str(row["name"]),
                ",".join(row["scopes"]),
                str(row["prefix"]),
                f"{duration(now - row['created_at'])} ago",
                _state(row, now),
            )
            for row in rows
        ],
        empty="no tokens: `lakeshore tokens add NAME --scopes producer` makes one",
    )


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for, in your words.")],
    scopes: Annotated[
        str, typer.Option("--scopes", metavar="A,B", help=f"What it may do: {', '.join(SCOPES)}.")
    ],
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires", metavar="SPAN", help="Good for so long: 12h, 7d. Without it, until revoked."
        ),
    ] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Make a token for the namespace and print it, this once."""
    wanted = _scopes(scopes)
    seconds = None if expires is None else parse_span(expires, "--expires")
    if seconds == 0:
        raise ConfigError(f"--expires {expires}: give a span above 0, or leave it out")
    with control_plane(url, token, namespace, _WHAT) as (_, rest):
        made = rest.add_token(name, wanted, expires_in_s=seconds)
    if as_json:
        print_json(made)
        return
    typer.echo(
        f"token {made['id']} ({name}; {', '.join(made['scopes'])}; namespace {made['namespace']}) is shown this once:",
        err=True,
    )
    typer.echo(made["token"])


@app.command("revoke")
def revoke(
    token_ids: Annotated[
        list[str], typer.Argument(metavar="ID...", help="Ids, as `tokens list` shows them.")
    ],
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Make tokens worthless, for good."""
    with control_plane(url, token, namespace, _WHAT) as (_, rest):
        known = {str(row["id"]): row for row in rest.tokens()}
        for token_id in token_ids:
            if token_id not in known:  # it may be the token itself, which no message repeats
                hint = nearest(token_id, known) if known else ": there are none"
                raise DispatchError(f"there is no token with the id {_shortened(token_id)}{hint}")
        for token_id in token_ids:
            rest.revoke_token(token_id)
    if as_json:
        print_json([{"id": token_id, "revoked": True} for token_id in token_ids])
        return
    for token_id in token_ids:
        typer.echo(f"token {token_id} ({known[token_id]['name']}) is revoked")


def _scopes(text: str) -> list[str]:
    found = [word.strip() for word in text.split(",") if word.strip()]
    if not found:
        raise ConfigError(f"--scopes {text!r}: name one or more of {', '.join(SCOPES)}")
    for scope in found:
        if scope not in SCOPES:
            raise ConfigError(f"--scopes {scope}{nearest(scope, SCOPES)}")
    return found


def _state(row: dict[str, Any], now: float) -> str:
    revoked, expires = row.get("revoked_at"), row.get("expires_at")
    if revoked is not None:
        return f"revoked {duration(now - revoked)} ago"
    if expires is None:
        return "good"
    return (
        f"expired {duration(now - expires)} ago" if expires <= now else f"good for {duration(expires - now)}"
    )


def _shortened(token_id: str) -> str:
    return repr(token_id) if len(token_id) <= 32 else repr(token_id[:8] + "...")
