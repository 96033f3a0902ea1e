"""Tables, badges and lists of facts: the shapes that pages are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lakeshore_controlplane.api.ui.markup import Markup, Part, html, join

_GOOD = frozenset({"active", "succeeded", "idle"})
_BUSY = frozenset({"running", "starting", "busy"})
_BAD = frozenset({"failed", "timeout", "stale"})


def table(
    caption: str, columns: Sequence[str], rows: Iterable[tuple[str, Sequence[Part]]], empty: str
) -> Markup:
    """Make a table; a row is its key and its cells, the first of which names the row.

    A column that begins with ``#`` holds numbers. ``empty`` is said where there are no rows.
    """
    numeric = [name.startswith("#") for name in columns]
    body = [_row(key, cells, numeric) for key, cells in rows]
    if not body:
        return html('<p class="muted empty">{empty}</p>', empty=empty)
    head = [
        html('<th scope="col"{kind}>{name}</th>', name=name.removeprefix("#"), kind=_kind(number))
        for name, number in zip(columns, numeric, strict=True)
    ]
    return html(
        '<div class="scroll" role="region" aria-label="{caption}" tabindex="0"><table>'
        '<caption class="unseen">{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>',
        caption=caption,
        head=join(head),
        body=join(body),
    )


def _row(key: str, cells: Sequence[Part], numeric: Sequence[bool]) -> Markup:
    first, *rest = cells
    return html(
        '<tr data-key="{key}"><th scope="row"{kind}>{first}</th>{rest}</tr>',
        key=key,
        kind=_kind(numeric[0]),
        first=first,
        rest=join(
            [
                html("<td{kind}>{cell}</td>", cell=cell, kind=_kind(number))
                for cell, number in zip(rest, numeric[1:], strict=True)
            ]
        ),
    )


def _kind(number: bool) -> Markup | None:
    return Markup(' class="number"') if number else None


def badge(word: str) -> Markup:
    """Show a state: its word, and a colour for those who see it."""
    tone = "good" if word in _GOOD else "busy" if word in _BUSY else "bad" if word in _BAD else "plain"
    return html('<span class="badge {tone}">{word}</span>', tone=tone, word=word)


def facts(pairs: Mapping[str, Part]) -> Markup:
    """List facts by name; those that are None or empty are left out."""
    shown = [
        html("<div><dt>{name}</dt><dd>{value}</dd></div>", name=name, value=value)
        for name, value in pairs.items()
        if value not in (None, "")
    ]
    return html('<dl class="facts">{shown}</dl>', shown=join(shown))


def tabs(label: str, choices: Iterable[tuple[str, str]], chosen: str) -> Markup:
    """Show a choice of pages, ``(word, address)``, as links."""
    items = [
        html(
            '<li><a href="{address}"{current}>{word}</a></li>',
            address=address,
            word=word,
            current=Markup(' aria-current="true"') if word == chosen else None,
        )
        for word, address in choices
    ]
    return html(
        '<nav class="tabs" aria-label="{label}"><ul>{items}</ul></nav>', label=label, items=join(items)
    )


def link(address: str, text: str) -> Markup:
    """Make a link."""
    return html('<a href="{address}">{text}</a>', address=address, text=text)
