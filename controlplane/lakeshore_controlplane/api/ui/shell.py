"""What is around every page: head, navigation, footer; and the pages that only say one thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakeshore_controlplane.api.ui import paths
from lakeshore_controlplane.api.ui.markup import Markup, html, join
from lakeshore_controlplane.api.ui.static_files import address


@dataclass(frozen=True, slots=True)
class Shell:
    """What navigation shows: the namespace, those that may be chosen, and how forms are signed.

    ``namespace`` is empty where nobody is known yet. ``leaves``: whether there is a token to forget.
    """

    namespace: str = ""
    choices: Sequence[str] = ()
    form_key: str = ""
    leaves: bool = False


def whole_page(title: str, content: Markup, shell: Shell, *, live: bool = False) -> Markup:
    """Put a page together. ``live``: the script renews the content while it is looked at."""
    return html(
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8"><title>{title} · Lakeshore</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        '<link rel="icon" href="{icon}" type="image/svg+xml"><link rel="stylesheet" href="{css}">'
        '<script src="{js}" defer></script></head>\n'
        '<body><a class="skip" href="#content">Skip to the content</a>\n'
        '<header>{brand}<div class="tools">{tools}</div></header>\n'
        '<main id="content" tabindex="-1"{live}>{content}</main>\n'
        '<footer><p>Times are UTC. <a href="/docs">API</a></p></footer></body></html>\n',
        title=title,
        icon=address("icon.svg"),
        css=address("ui.css"),
        js=address("ui.js"),
        brand=_brand(shell),
        tools=join([_namespaces(shell), _leave(shell)]),
        live=Markup(" data-live") if live else None,
        content=content,
    )


def one_line(message: str, hint: str | None = None) -> Markup:
    """Say what went wrong, and what helps."""
    return html(
        '<h1 class="quiet">This did not work</h1><p class="problem" role="alert">{message}{hint}</p>'
        '<p><a href="{home}">To the queues</a></p>',
        message=message,
        hint=f": {hint}" if hint else None,
        home=paths.HOME,
    )


def hidden_key(shell: Shell) -> Markup:
    """Give the field that proves that a form is ours."""
    return html('<input type="hidden" name="form_key" value="{key}">', key=shell.form_key)


def _brand(shell: Shell) -> Markup:
    home = paths.queues(shell.namespace) if shell.namespace else paths.HOME
    return html(
        '<nav aria-label="Main"><a class="brand" href="{home}"><img src="{icon}" alt="" width="22" height="22">'
        "Lakeshore</a></nav>",
        home=home,
        icon=address("icon.svg"),
    )


def _namespaces(shell: Shell) -> Markup:
    if not shell.namespace:
        return Markup()
    if len(shell.choices) < 2:
        return html('<span class="muted">namespace <b>{name}</b></span>', name=shell.namespace)
    options = [
        html(
            '<option value="{name}"{chosen}>{name}</option>',
            name=name,
            chosen=Markup(" selected") if name == shell.namespace else None,
        )
        for name in shell.choices
    ]
    return html(
        '<form action="{home}" method="get"><label for="ns">Namespace</label> '
        '<select id="ns" name="ns">{options}</select> <button>Go</button></form>',
        home=paths.HOME,
        options=join(options),
    )


def _leave(shell: Shell) -> Markup:
    if not shell.leaves:
        return Markup()
    return html(
        '<form action="{logout}" method="post">{key}<button>Log out</button></form>',
        logout=paths.LOGOUT,
        key=hidden_key(shell),
    )
