"""Replicas, workers and producers as processes of their own, on the servers that tests share."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from fault_witness import Witness

import dreamlake.lakeshore as dls
from dreamlake.lakeshore.dispatch import HttpDispatch
from servers.balancer import Balancer
from servers.replica_process import ROOT, ReplicaProcess

RIG = Path(__file__).parent
WORKER = ("-m", "dreamlake.lakeshore.daemon")
PRODUCER = (str(RIG / "fault_producer.py"),)


def skewed(seconds, *paths):
    """Give the variables of a Python process with these paths whose wall clock is off by so many seconds."""
    return {
        "PYTHONPATH": os.pathsep.join(str(path) for path in ([RIG / "skewed"] if seconds else []) + [*paths]),
        "TEST_CLOCK_SKEW_S": str(seconds),
    }


class Program:
    """A Python process with its output in a file."""

    def __init__(self, name, folder, log, *words, skew_s=0.0):
        self.name = name
        self.log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, *words],
                env={
                    "PATH": "/usr/bin:/bin",
                    "HOME": str(folder),
                    "LAKESHORE_HOME": str(folder),
                    "LAKESHORE_PUSH_CODE": "off",
                    **skewed(skew_s, ROOT / "worker_image", RIG),
                },
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=folder,
            )
        self.pid = self.process.pid

    def output(self):
        return self.log.read_text(errors="replace")

    def said(self, kind):
        """The words after ``kind`` of every whole line that begins with it."""
        text = self.output()
        whole = text[: text.rfind("\n") + 1].splitlines()
        return [line.split()[1:] for line in whole if line.split()[:1] == [kind]]

    @property
    def runs(self):
        return self.process.poll() is None

    def send(self, number):
        self.process.send_signal(number)

    def wait(self, limit_s):
        """Wait for its end; its exit status."""
        try:
            return self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end within {limit_s} s:\n{self.tail()}") from None

    def tail(self):
        return self.output()[-3000:]

    def end(self):
        if self.runs:
            self.send(signal.SIGCONT)
            self.process.kill()
            self.process.wait(10)


class Site:
    """One test's replicas with what works on them; ``close`` ends it all."""

    def __init__(self, folder, mongo_url, database):
        self.folder = folder
        self.stores = {"mongo_url": mongo_url, "mongo_database": database}
        self.replicas = []
        self.programs = []
        self.witness = Witness(mongo_url, database)
        self._left = ExitStack()
        self._left.enter_context(self.witness)

    # -- starting
    def replica(self, n=1, *, skew_s=0.0, **settings):
        """Start n replicas side by side on the same stores; a single one is given as it is."""
        made = [ReplicaProcess(variables=skewed(skew_s), **self.stores, **settings) for _ in range(n)]
        self.replicas += made
        for one in made:
            self._left.callback(one.stop)
        with ThreadPoolExecutor(n) as starting:
            list(starting.map(ReplicaProcess.start, made))
        return made[0] if n == 1 else made

    def balancer(self, *replicas):
        return self.enter(Balancer(*(replica.port for replica in replicas)))

    def enter(self, resource):
        """Close it with the site."""
        return self._left.enter_context(resource)

    def plane(self, url, **options):
        made = HttpDispatch(url, **options)
        self._left.callback(made.close)
        return made

    def queue(self, url, name="default", **options):
        return dls.SyncQueue(name, dispatch=self.plane(url, **options))

    def worker(self, url, *flags, skew_s=0.0):
        return self._program("a worker", *WORKER, "--url", url, *flags, skew_s=skew_s)

    def producer(self, url, mode, n, pause=0.0, *, timeout=60, skew_s=0.0):
        words = (url, timeout, mode, n, pause, self.folder / "notes")
        return self._program("a producer", *PRODUCER, *words, skew_s=skew_s)

    def _program(self, name, *words, skew_s):
        log = self.folder / f"program-{len(self.programs)}.log"
        made = Program(name, self.folder, log, *map(str, words), skew_s=skew_s)
        self.programs.append(made)
        self._left.callback(made.end)
        return made

    def crowd(self, url, jobs=300, pause=0.01, *, frames=0, workers=2, lease=3):
        """Start workers, a producer of jobs and one of a stream, and wait until they are under way."""
        for _ in range(workers):
            self.worker(url, "--lease", lease, "--concurrency", 2)
        producers = [self.producer(url, "jobs", jobs, pause)]
        if frames:
            producers.append(self.producer(url, "stream", frames, 0.004))
        self.until(lambda: all(one.said("acknowledged") for one in producers), "the first submissions")
        self.until(self.notes, "the first jobs to run")
        return producers

    # -- waiting
    def until(self, condition, what, limit_s=20.0):
        """Wait for a condition and give its value; the logs are in the error when it does not come."""
        ends = time.monotonic() + limit_s
        while not (value := condition()):
            if time.monotonic() > ends:
                logs = [f"--- {one.name}\n{one.tail()}" for one in self.programs]
                logs += [f"--- {one.name}\n{one.log_tail()}" for one in self.replicas]
                raise AssertionError("\n".join([f"waited {limit_s} s for {what}", *logs]))
            time.sleep(0.02)
        return value

    def until_done(self, producer, limit_s=60.0):
        """Wait until a producer has all that it asked for."""

        def done():
            assert producer.runs or producer.said("done"), f"the producer failed:\n{producer.tail()}"
            return producer.said("done")

        self.until(done, "the producer to be done", limit_s)
        assert producer.wait(10) == 0

    def assert_nothing_lost(self, producers):
        """Have the producers come to their ends, and check all that they were promised, by the rows."""
        for producer in producers:
            self.until_done(producer)
        self.until(self.witness.has_seen_all_end, "every row to end", 30)
        acknowledged = [words[0] for one in producers for words in one.said("acknowledged")]
        rows = self.witness.assert_all_ended(acknowledged)
        assert len(rows) == len(acknowledged), "a submission was stored twice"
        for producer in producers:
            if frames := producer.said("frame"):
                assert frames == [[str(n), str(n)] for n in range(len(frames))]
                self.witness.assert_gapless(producer.said("acknowledged")[0][0], len(frames))
        notes = self.notes()
        assert len(notes) == len(set(notes)), "an attempt was handed out twice"
        return rows

    def notes(self):
        path = self.folder / "notes"
        return path.read_text().splitlines() if path.exists() else []

    def close(self):
        self._left.close()
