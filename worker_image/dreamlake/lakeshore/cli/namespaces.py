"""``lakeshore namespaces``: the walls between tenants of a control plane."""

from __future__ import annotations

from typing import Annotated

import typer

from dreamlake.lakeshore.cli.opening import NamespaceOption, TokenOption, UrlOption, control_plane
from dreamlake.lakeshore.cli.output import JsonFlag, duration, print_json, print_table

app = typer.Typer(help="Make, list and delete namespaces of a control plane.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the namespace.")]
_WHAT = "namespaces are made and listed"
_NONE = "default"
"""These commands take --namespace as all do, and do not look at it: namespaces lie in none."""


@app.command("list")
def list_namespaces(
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """List the namespaces that the token may see."""
    with control_plane(url, token, _NONE, _WHAT) as (opened, rest):
        rows = rest.namespaces()
        now = opened.now()
    if as_json:
        print_json(rows)
        return
    print_table(
        ("NAMESPACE", "MADE"),
        [
            (
                str(row["name"]),
                "always there" if (at := row["created_at"]) is None else f"{duration(now - at)} ago",
            )
            for row in rows
        ],
        empty="no namespaces",
    )


@app.command("add")
def add(
    name: Name,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Make a namespace; one that is there stays as it is."""
    with control_plane(url, token, _NONE, _WHAT) as (_, rest):
        made = rest.add_namespace(name)
    if as_json:
        print_json(made)
    else:
        typer.echo(f"namespace {made['name']} is there")


@app.command("delete")
def delete(
    name: Name,
    url: UrlOption = None,
    token: TokenOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Delete a namespace that has nothing in it."""
    with control_plane(url, token, _NONE, _WHAT) as (_, rest):
        rest.delete_namespace(name)
    if as_json:
        print_json({"name": name, "deleted": True})
    else:
        typer.echo(f"namespace {name} is deleted")
