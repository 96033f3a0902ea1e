"""A producer or a worker on a plane's file, as a process of its own: ``program.py ROLE FILE NAME ...``.

Each line that it prints says what the plane has confirmed.
"""

import sys
import time

from dreamlake.lakeshore.dispatch import Dispatch
from dreamlake.lakeshore.dispatch.plane import Finished, Frame, Submission
from dreamlake.lakeshore.errors import FencedError


def say(*words):
    print(*words, flush=True)


def produce(plane, name, batches, size):
    """Submit ``batches`` batches and name each id that was taken."""
    for batch in range(int(batches)):
        items = [Submission(f"{name}-{batch}-{n}", b"e" * 50) for n in range(int(size))]
        say("submitted", *plane.submit_many("q", items))


def work(plane, name, batch, lease_s="30"):
    """Claim, stream a frame and acknowledge, until told to stop by the end of standard input or by ``stop``."""
    listener = plane.listen("work:q")
    while plane.get("stop") is None:
        jobs = plane.claim_many("q", name, int(batch), lease_s=float(lease_s))
        if not jobs:
            due = plane.next_due("q")
            listener.wait(0.2 if due is None else min(due + 0.001, 0.2))
            continue
        say("claimed", *(f"{job.id}:{job.attempt}" for job in jobs))
        for job in jobs[:1]:
            try:
                plane.journal_append_many(job.id, [Frame(n, b"frame") for n in range(3)], worker_id=name)
            except FencedError:
                say("fenced", job.id)
        results = [Finished(job.id, job.attempt, f"{name}:{job.attempt}".encode()) for job in jobs]
        fenced = plane.ack_many(name, results)
        say("acked", *(f"{job.id}:{job.attempt}" for job in jobs if job.id not in fenced))
    listener.close()


def hold(plane, name):
    """Claim one job, say so, then acknowledge it when a line comes in."""
    job = plane.claim("q", name, lease_s=0.5)
    say("claimed", job.id)
    sys.stdin.readline()
    try:
        plane.ack(job.id, name, result=b"late", attempt=job.attempt)
        say("acked")
    except FencedError as exc:
        say("fenced", exc)


def lock(plane, _name):
    """Keep the write lock until killed."""
    with plane._store.write():
        say("locked")
        time.sleep(600)


def main():
    role, path, name, *rest = sys.argv[1:]
    plane = Dispatch(path)
    {"produce": produce, "work": work, "hold": hold, "lock": lock}[role](plane, name, *rest)
    plane.close()


main()
