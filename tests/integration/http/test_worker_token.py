"""A token with the scope worker alone runs a worker, and submits nothing."""

import contextlib

import pytest

from dreamlake.lakeshore import HttpDispatch, SyncQueue, run_worker, udf
from dreamlake.lakeshore.dispatch.http.administration import administration
from dreamlake.lakeshore.errors import DispatchError
from hand_clock import HandClock
from servers.replica_thread import ReplicaThread

ADMIN = "dlk_" + "a" * 43


@udf
def speak(n):
    print("working on", n)
    return n + 1


def test_a_worker_token_runs_jobs_and_submits_none(mongo_url, mongo_database):
    settings = {"mongo_url": mongo_url, "mongo_database": mongo_database, "bootstrap_token": ADMIN}
    with ReplicaThread(HandClock(), **settings) as replica:
        producer = HttpDispatch(replica.url, token=ADMIN)
        with contextlib.closing(administration(producer)) as admin:
            made = admin.add_token("pod", ["worker"])
        worker = HttpDispatch(replica.url, token=made["token"])
        inv_id = SyncQueue("q", dispatch=producer).submit(speak, 1)
        assert run_worker(SyncQueue("q", dispatch=worker), once=True, allow_pickled=True) == 1
        assert SyncQueue("q", dispatch=producer).result(inv_id) == 2
        with pytest.raises(DispatchError, match="scope"):
            SyncQueue("q", dispatch=worker).submit(speak, 1)
        for plane in (producer, worker):
            plane.close()
