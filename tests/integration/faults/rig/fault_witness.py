"""Reads the rows themselves, while things go wrong and after: what was seen to end must stay as it ended."""

import threading

import pymongo
from pymongo.errors import PyMongoError

TERMINAL = ["succeeded", "failed", "killed", "timeout"]
_END = ("state", "attempt", "finishedAt", "resultBlob", "resultRef", "error", "workerId")


class Witness:
    """``with Witness(url, database) as witness``: looks every ``every_s`` seconds, as far as the server answers."""

    def __init__(self, url, database, *, every_s=0.3):
        self._client = pymongo.MongoClient(url, serverSelectionTimeoutMS=2000, socketTimeoutMS=10_000)
        self._rows = self._client[database]
        self._every_s = every_s
        self._ends = {}
        self._changed = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="witness")

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join(30)
        self._client.close()
        assert not self._thread.is_alive(), "the witness did not end within 30 s"

    def _watch(self):
        while not self._over.wait(self._every_s):
            try:
                self.look()
            except PyMongoError:
                continue  # the server is away, as the test wants it

    def look(self):
        """Compare every row that has ended with what was seen of it before."""
        for row in self._rows.invocations.find({"state": {"$in": TERMINAL}}):
            end = {name: row.get(name) for name in _END}
            if self._ends.setdefault(row["_id"], end) != end:
                self._changed.append((row["_id"], self._ends[row["_id"]], end))

    def rows(self):
        """Every row there is, by its invocation's id."""
        return {row["_id"].split("/", 1)[1]: row for row in self._rows.invocations.find()}

    def frames(self, inv_id):
        """The stored frames of an invocation in order: ``[(seq, bytes)]``, straight from the rows."""
        first = f"default/{inv_id}/"
        found = self._rows.result_chunks.find({"_id": {"$gte": first, "$lt": first + ":"}}).sort("_id", 1)
        return [(int(row["_id"].rsplit("/", 1)[1]), row) for row in found]

    def has_seen_all_end(self):
        """Whether no row waits or runs. A stream's last frame comes a moment before its invocation's end."""
        return self._rows.invocations.find_one({"state": {"$nin": TERMINAL}}) is None

    def assert_all_ended(self, acknowledged, *, states=("succeeded",)):
        """Every acknowledged id has one row, which ended in one of ``states`` and has never changed since."""
        self.look()
        assert self._changed == [], "an end has changed"
        rows = self.rows()
        assert [inv_id for inv_id in acknowledged if inv_id not in rows] == [], "acknowledged and lost"
        wrong = {inv_id: row["state"] for inv_id, row in rows.items() if row["state"] not in states}
        assert wrong == {}
        return rows

    def assert_gapless(self, inv_id, n):
        """The frames in the rows are numbers 0 to n, the last of them final (a generator's END)."""
        assert [seq for seq, _ in self.frames(inv_id)] == list(range(n + 1))
