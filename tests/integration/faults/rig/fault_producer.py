"""A program of a user, in a process of its own: ``python fault_producer.py URL TIMEOUT MODE ...``.

``jobs N PAUSE NOTES``: submit N jobs one after another, then wait for all results.
``stream N PAUSE NOTES``: submit a generator and read what it yields.
It writes ``acknowledged ID``, ``frame N SEQ VALUE``, ``result ID VALUE``, and ``done`` last.
"""

import sys
import time

import fault_bodies as bodies

import dreamlake.lakeshore as dls
from dreamlake.lakeshore.dispatch import HttpDispatch


def say(*words):
    print(*words, flush=True)


def jobs(queue, n, pause, notes):
    ids = {}
    for number in range(n):
        ids[queue.submit(bodies.double, number, notes)] = number
        say("acknowledged", list(ids)[-1])
        time.sleep(pause)
    for inv_id, value in queue.results(ids, timeout=100):
        assert value == 2 * ids[inv_id]
        say("result", inv_id, value)


def stream(queue, n, pause, notes):
    inv_id = queue.submit(bodies.count_up, n, pause, notes)
    say("acknowledged", inv_id)
    for seq, value in queue.stream_frames(inv_id, timeout=30):
        say("frame", seq, value)


def main(url, timeout, mode, n, pause, notes):
    plane = HttpDispatch(url, timeout=float(timeout))
    queue = dls.SyncQueue("default", dispatch=plane)
    {"jobs": jobs, "stream": stream}[mode](queue, int(n), float(pause), notes)
    say("done")
    plane.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
