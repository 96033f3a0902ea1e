"""The services that write journals, read them and wait for ends, put together as in one replica, for tests."""

import asyncio
import inspect
import time
from contextlib import AsyncExitStack

from hand_clock import HandClock
from lakeshore_controlplane.services.awaiting import Awaiting
from lakeshore_controlplane.services.eventlog import EventLog
from lakeshore_controlplane.services.finishers import Finishers
from lakeshore_controlplane.services.journals import Journals
from lakeshore_controlplane.services.reading import Reading
from lakeshore_controlplane.services.topics import done_rings, outcome_of
from lakeshore_controlplane.services.wakeups import Wakeups
from lakeshore_controlplane.services.watches import Watches
from lakeshore_controlplane.store.bells.local import LocalBells
from lakeshore_controlplane.store.bells.redis import RedisBells
from lakeshore_controlplane.store.mongo.database import Database
from lakeshore_controlplane.store.mongo.events import EventRows
from lakeshore_controlplane.store.mongo.journals import JournalRows
from lakeshore_controlplane.store.mongo.outcomes import OutcomeRows
from lakeshore_controlplane.store.redis_link import RedisLink
from lakeshore_controlplane.store.tail.memory import MemoryTail
from lakeshore_controlplane.store.tail.redis import RedisTail

LIMIT_S = 60
TERMINAL = ("succeeded", "failed", "killed", "timeout")


class Replica:
    """One replica. Without ``redis_url`` it hears nothing of others."""

    def __init__(self, url, name, clock, redis_url=None, **limits):
        self.database = Database(url, name)
        self.invocations = self.database.collection("invocations")
        links = [RedisLink(redis_url, call_s=0.5, rest_s=0.05) for _ in range(2)] if redis_url else []
        self.bells = RedisBells(links[0]) if links else LocalBells()
        self.tail = RedisTail(links[1]) if links else MemoryTail()
        self.rows = JournalRows(self.database)
        self.stopped = False
        stopping = lambda: self.stopped
        outcomes = OutcomeRows(self.database)
        journals = {"rows": self.rows, "outcomes": outcomes, "tail": self.tail, "bells": self.bells}
        self.journals = Journals(**journals)
        self.reading = Reading(**journals, stopping=stopping)
        self.finishers = Finishers(rows=outcomes, bells=self.bells, stopping=stopping)
        self.awaiting = Awaiting(finishers=self.finishers, stopping=stopping)
        self.watches = Watches(
            finishers=self.finishers, rows=outcomes, clock=clock, stopping=stopping, **limits
        )
        self.wakeups = Wakeups(bells=self.bells, stopping=stopping)
        self.events = EventLog(rows=EventRows(self.database), clock=clock)

    def stop(self):
        """Go away, as at SIGTERM."""
        self.stopped = True
        self.bells.ring_all()

    async def close(self):
        await self.watches.close()
        await self.finishers.close()
        await self.bells.close()
        await self.tail.close()
        await self.database.close()

    async def submit(self, *ids, namespace="ns", **fields):
        """Rows as a submission leaves them, as far as those who wait can see."""
        row = {"namespaceId": namespace, "state": "queued", "attempt": 0, **fields}
        await self.invocations.insert_many([{"_id": f"{namespace}/{name}", **row} for name in ids])

    async def claim(self, *ids, worker="w", namespace="ns"):
        change = {"state": "running", "attempt": 1, "workerId": worker}
        await self.invocations.update_many(
            {"_id": {"$in": [f"{namespace}/{name}" for name in ids]}}, {"$set": change}
        )

    async def end(self, *ids, namespace="ns", state="succeeded", result=b"r", error=None, rung=True):
        """The rows first, then the bells, as every end does it. Not ``rung``: the replica died in between."""
        keys = [f"{namespace}/{name}" for name in ids]
        change = {"state": state, "resultBlob": result, "error": error, "attempt": 1, "workerId": None}
        await self.invocations.update_many({"_id": {"$in": keys}}, {"$set": change})
        if rung:
            outcomes = [outcome_of({"_id": key, **change}) for key in keys]
            self.bells.ring(done_rings(namespace, outcomes))

    async def append(self, journal, *seqs, final=False, namespace="ns", **options):
        """Append ``b"<seq>"`` for each seq; ``final`` for the last."""
        frames = [(seq, b"%d" % seq, final and seq == seqs[-1]) for seq in seqs]
        return await self.journals.append(namespace, journal, frames, **options)

    async def seqs(self, journal, since=-1, namespace="ns"):
        """All that can be read now."""
        found = []
        while True:
            batch = await self.reading.read(namespace, journal, since=since)
            if not batch.entries:
                return found
            found += [seq for seq, _ in batch.entries]
            since = found[-1]

    async def follow(self, journal, since=-1, namespace="ns", max_bytes=1 << 20):
        """Read until the journal has ended; what came, and the frame that never did."""
        found = []
        while True:
            batch = await self.reading.read(
                namespace, journal, since=since, timeout_s=LIMIT_S, max_bytes=max_bytes
            )
            found += batch.entries
            since = found[-1][0] if found else since
            if batch.done:
                return found, batch.missing


class Stage:
    """Plays scenarios, each a coroutine function with a replica for each of its arguments."""

    def __init__(self, url, name, redis_url=None):
        self._place = (url, name)
        self._redis_url = redis_url
        self.clock = HandClock()

    def __call__(self, scenario, **limits):
        async def run():
            async with AsyncExitStack() as opened, asyncio.timeout(LIMIT_S):
                made = []
                for _ in inspect.signature(scenario).parameters:
                    made.append(Replica(*self._place, self.clock, self._redis_url, **limits))
                    opened.push_async_callback(made[-1].close)
                    await made[-1].bells.start()
                return await scenario(*made)

        return asyncio.run(run())


async def until(holds, limit_s=20):
    """Wait until ``holds()`` is true, or fail."""
    ends = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < ends, f"waited {limit_s} s"
        await asyncio.sleep(0.005)


async def waits(replica, topic):
    """Wait until somebody listens to ``topic`` on this replica."""
    local = getattr(replica.bells, "_local", replica.bells)
    await until(lambda: topic in local._listeners)
