"""A pipeline as a tree, cut to what fits a page. Pure, and safe for parents that go round in circles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

Row: TypeAlias = Mapping[str, object]

_MOST = 100


class Node(NamedTuple):
    """A row and how deep it lies; the root is 0."""

    depth: int
    row: Row


def plan_tree(rows: Sequence[Row], current: Row) -> tuple[list[Node], int]:
    """Order ``rows`` so that each follows its parent, and choose: the way to ``current`` first, then what is below.

    Gives the chosen nodes, and how many rows were left out.
    """
    by_id = {str(row["id"]): row for row in [*rows, current]}
    way = _way(by_id, current)
    below: dict[str, list[Row]] = {}
    for row in by_id.values():
        below.setdefault(str(row["parent"] or ""), []).append(row)
    nodes = [Node(depth, row) for depth, row in enumerate(way)]
    seen = {str(row["id"]) for row in way}
    nodes += _descend(below, current, len(way), seen)
    for depth in range(len(way) - 2, -1, -1):
        nodes = _with_siblings(nodes, below, way[depth], depth + 1, seen)
    return nodes, len(by_id) - len(nodes)


def _way(by_id: Mapping[str, Row], current: Row) -> list[Row]:
    """Give the rows from the root to ``current``."""
    way, seen = [current], {str(current["id"])}
    while (parent := by_id.get(str(way[-1]["parent"] or ""))) is not None and str(parent["id"]) not in seen:
        seen.add(str(parent["id"]))
        way.append(parent)
    return way[::-1][-_MOST:]


def _descend(below: Mapping[str, list[Row]], top: Row, depth: int, seen: set[str]) -> list[Node]:
    """Give what lies below ``top``, each behind its parent, as long as there is room."""
    found: list[Node] = []
    waiting = [Node(depth, row) for row in reversed(below.get(str(top["id"]), ()))]
    while waiting and len(seen) < _MOST:
        node = waiting.pop()
        key = str(node.row["id"])
        if key in seen:
            continue
        seen.add(key)
        found.append(node)
        waiting += [Node(node.depth + 1, row) for row in reversed(below.get(key, ()))]
    return found


def _with_siblings(
    nodes: list[Node], below: Mapping[str, list[Row]], parent: Row, depth: int, seen: set[str]
) -> list[Node]:
    """Add the other children of ``parent`` behind what is shown, without what is below them."""
    found: list[Node] = []
    for row in below.get(str(parent["id"]), ()):
        if len(seen) >= _MOST:
            break
        if str(row["id"]) not in seen:
            seen.add(str(row["id"]))
            found.append(Node(depth, row))
    return nodes + found
