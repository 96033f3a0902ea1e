"""The services that claim and end, put together as in one replica, on real stores and a clock that tests move."""

import itertools

from lakeshore_controlplane.services.cancelling import Cancelling
from lakeshore_controlplane.services.claiming import Claiming
from lakeshore_controlplane.services.expiring import Expiring
from lakeshore_controlplane.services.finishing import Finishing, Report
from lakeshore_controlplane.services.holdings import Holdings
from lakeshore_controlplane.services.leasing import Leasing
from lakeshore_controlplane.services.placing import Placing
from lakeshore_controlplane.services.queue_book import QueueBook
from lakeshore_controlplane.services.submission import Moment, Submission, id_of, row_of
from lakeshore_controlplane.services.sweeping import Sweeping
from lakeshore_controlplane.services.tallies import Tallies
from lakeshore_controlplane.store.bells.local import LocalBells
from lakeshore_controlplane.store.lane.port import QueueKey
from lakeshore_controlplane.store.mongo.claims import ClaimRows
from lakeshore_controlplane.store.mongo.invocations import INDEXES, InvocationRows, RowFilter
from lakeshore_controlplane.store.mongo.queues import QueueRows

TERMINAL = {"succeeded", "failed", "killed", "timeout"}
orders = itertools.count(1)


class Replica:
    """One replica's services. ``wrap`` may put something between them and a store."""

    def __init__(self, database, lane, clock, *, wrap=lambda store: store, audit_s=0.0):
        self.database = database
        self.clock = clock
        self.lane = lane
        self.stored = InvocationRows(database)
        self.bells = LocalBells()
        self.tallies = Tallies()
        self.queue_rows = QueueRows(database)
        self.book = QueueBook(rows=self.queue_rows, bells=self.bells, clock=clock)
        self.idle = []
        self.counted = []
        self.when_rows_return = None
        rows, lane = wrap(ClaimRows(database)), wrap(lane)
        shared = {"rows": rows, "bells": self.bells, "clock": clock}
        self.placing = Placing(lane=lane, tallies=self.tallies, returning=self._returns, **shared)
        self.expiring = Expiring(placing=self.placing, tallies=self.tallies, **shared)
        holdings = Holdings()
        self.claiming = Claiming(
            lane=lane,
            placing=self.placing,
            expiring=self.expiring,
            queues=self.book,
            tallies=self.tallies,
            holdings=holdings,
            **shared,
        )
        note = lambda namespace, worker: self.idle.append((namespace, worker))
        self.finishing = Finishing(
            placing=self.placing,
            tallies=self.tallies,
            finished=lambda *told: self.counted.append(told),
            idle=note,
            holdings=holdings,
            **shared,
        )
        self.leasing = Leasing(lane=lane, placing=self.placing, queues=self.book, idle=note, **shared)
        self.cancelling = Cancelling(placing=self.placing, **shared)
        self.sweeping = Sweeping(
            rows=rows,
            lane=lane,
            placing=self.placing,
            expiring=self.expiring,
            clock=clock,
            tallies=self.tallies,
            every_s=0.01,
            audit_s=audit_s,
        )

    async def _returns(self, queue, n):
        if self.when_rows_return is not None:
            await self.when_rows_return(queue, n)

    async def open(self):
        await self.database.ensure_indexes(INDEXES)
        return self

    async def close(self):
        await self.sweeping.stop()
        await self.placing.close()

    async def submit(self, *ids, queue="q", namespace="ns", pushed=True, **config):
        """Store rows as a submission does, and put them in the lane unless it died before that."""
        key = QueueKey(namespace, queue)
        record = await self.book.get(key)
        rows = []
        for inv_id in ids:
            moment = Moment(self.clock.steady(), self.clock.wall(), next(orders))
            item = Submission(inv_id, queue, args=f"env-{inv_id}".encode(), run_config=config)
            field = record["kindParams"].get("priority_field")
            rows.append(row_of(namespace, item, moment, root=inv_id, priority_field=field))
        assert await self.stored.insert(rows) == set()
        if pushed:
            await self.placing.push(key, rows)

    async def declare(self, queue="q", namespace="ns", **changes):
        await self.book.get(QueueKey(namespace, queue))
        await self.queue_rows.change(QueueKey(namespace, queue), changes)
        self.bells.ring_all()
        self.book = self.claiming._queues = self.leasing._queues = QueueBook(
            rows=self.queue_rows, bells=self.bells, clock=self.clock
        )

    async def claim(self, worker="w", n=1, *, queue="q", namespace="ns", lease_s=30.0, **options):
        """The ids and attempts that a claim gives."""
        rows = await self.claiming.claim(namespace, queue, worker, n, lease_s=lease_s, **options)
        return [(id_of(row), row["attempt"]) for row in rows]

    async def warm(self, queue="q", namespace="ns"):
        assert await self.placing.refill(QueueKey(namespace, queue))

    async def row(self, inv_id, namespace="ns"):
        return await self.stored.get(namespace, inv_id)

    async def rows_in(self, state):
        return await self.stored.count("ns", RowFilter(state=state))

    async def state(self, inv_id, namespace="ns"):
        return (await self.row(inv_id, namespace))["state"]


def success(inv_id, attempt=1, result=b"r"):
    return Report(inv_id, attempt, "succeeded", result=result)


def failure(inv_id, attempt=1, **options):
    error = options.pop("error", {"type": "E", "message": "m"})
    return Report(inv_id, attempt, "failed", error=error, **options)
