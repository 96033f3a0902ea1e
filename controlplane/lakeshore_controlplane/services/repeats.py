"""Which submissions repeat others: in their own batch, or among the rows that are stored. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from lakeshore_controlplane.documents import Invocation
from lakeshore_controlplane.faults import IdConflict, Refusal
from lakeshore_controlplane.services.submission import Submitted, id_of, queue_of

Answer: TypeAlias = Submitted | Refusal
"""What becomes of a submission."""


class Known(NamedTuple):
    """What a stored row says about those that may repeat it."""

    id: str
    queue: str
    digest: bytes
    key: str | None


class KnownRows:
    """Stored (or about to be stored) rows, by id and by key."""

    def __init__(self, rows: Iterable[Known] = ()) -> None:
        self._by_id: dict[str, Known] = {}
        self._by_key: dict[tuple[str, str], Known] = {}
        for row in rows:
            self.add(row)

    def add(self, row: Known) -> None:
        """Take in one more."""
        self._by_id[row.id] = row
        if row.key is not None:
            self._by_key[row.queue, row.key] = row

    def __bool__(self) -> bool:
        return bool(self._by_id)

    def answer(self, row: Invocation) -> Submitted | IdConflict | None:
        """Say what becomes of a submission: it repeats one, its id is taken, or None: it is new.

        A known key wins: whatever else it brings, a submission with that key is the earlier one.
        """
        mine = known_of(row)
        if mine.key is not None and (earlier := self._by_key.get((mine.queue, mine.key))) is not None:
            return Submitted(earlier.id, earlier.queue, duplicate=True)
        same = self._by_id.get(mine.id)
        if same is None:
            return None
        if same != mine:
            return _conflict(mine.id)
        return Submitted(mine.id, mine.queue, duplicate=True)


def known_of(row: Invocation) -> Known:
    """Give what later submissions are compared with."""
    return Known(id_of(row), queue_of(row), bytes(row["argsHash"]), row.get("idempotencyKey"))


def repeats_in(rows: Sequence[Invocation]) -> dict[int, Submitted | IdConflict]:
    """Find the rows of a batch that repeat an earlier one of it, by their place.

    ``Submitted`` names the earlier one: what becomes of that one becomes of the repeat.
    """
    if len({row["_id"] for row in rows}) == len(rows) and not any("idempotencyKey" in row for row in rows):
        return {}  # as nearly every batch
    seen = KnownRows()
    found: dict[int, Submitted | IdConflict] = {}
    for place, row in enumerate(rows):
        answer = seen.answer(row)
        if answer is None:
            seen.add(known_of(row))
        else:
            found[place] = answer
    return found


def in_order(
    planned: Sequence[Invocation | Refusal],
    again: Mapping[int, Submitted | IdConflict],
    told: Mapping[str, Answer],
) -> list[Answer]:
    """Give the answers of a batch in its order.

    ``planned``: each one's row, or why it has none. ``again``: see ``repeats_in``, of the rows alone. ``told``: what
    became of the rows that repeat none, by their ``_id``.
    """
    answers: list[Answer] = []
    place = 0
    for row in planned:
        if isinstance(row, Refusal):
            answers.append(row)
            continue
        repeat = again.get(place)
        place += 1
        if not isinstance(repeat, Submitted):
            answers.append(told[row["_id"]] if repeat is None else repeat)
            continue
        first = told[f"{row['namespaceId']}/{repeat.id}"]
        answers.append(first._replace(duplicate=True) if isinstance(first, Submitted) else first)
    return answers


def _conflict(inv_id: str) -> IdConflict:
    return IdConflict(
        f"invocation {inv_id} exists already with other content: nothing was submitted; "
        "use a new id for other work, or give a key to submit the same work only once"
    )
