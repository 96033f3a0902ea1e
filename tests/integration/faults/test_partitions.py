"""The network between a worker and the control plane is cut for longer than a lease, either way or both."""

import json
import signal

import fault_bodies as bodies
import pytest

from dreamlake.lakeshore.dispatch.plane import Frame
from dreamlake.lakeshore.errors import FencedError
from servers.partition import Partition

LEASE_S = 2


@pytest.mark.parametrize("cut", ["cut", "cut_towards_server", "cut_towards_client"])
def test_job_of_a_worker_that_is_cut_off_runs_elsewhere_and_its_late_end_changes_nothing(site, cut):
    replica = site.replica()
    net = site.enter(Partition(replica.port))
    cut_off = site.worker(f"http://127.0.0.1:{net.port}", "--lease", LEASE_S, "--json")
    queue = site.queue(replica.url)
    notes, gate = str(site.folder / "notes"), site.folder / "gate"
    job = queue.submit(bodies.until_released, notes, str(gate))
    site.until(lambda: site.notes() == [f"{job} 1"], "the job to run")
    getattr(net, cut)()
    other = site.worker(replica.url, "--lease", LEASE_S)
    site.until(lambda: site.notes() == [f"{job} 1", f"{job} 2"], "the job to run elsewhere", 30)
    gate.touch()
    assert queue.result(job, timeout=20) == 2
    ended = site.witness.rows()[job]

    net.heal()
    cut_off.send(signal.SIGTERM)
    assert cut_off.wait(30) == 0, cut_off.tail()
    counted = json.loads(cut_off.output().splitlines()[-1])
    # It was told that the end came too late, or before it reported that the job was not its any more.
    assert counted["succeeded"] == 0, counted
    assert site.witness.assert_all_ended([job])[job] == ended
    assert other.runs


def test_late_reports_are_fenced_and_change_nothing(site):
    plane = site.plane(site.replica().url)
    plane.submit("default", b"e", id="job")
    first = plane.claim("default", "cut off", lease_s=0.3)
    second = site.until(lambda: plane.claim("default", "other", lease_s=60), "the lease to run out")
    assert (first.attempt, second.attempt) == (1, 2)
    before = site.witness.rows()["job"]
    for _ in range(2):  # told again it is refused again
        with pytest.raises(FencedError):
            plane.journal_append_many("job", [Frame(0, b"late")], worker_id="cut off")
        with pytest.raises(FencedError):
            plane.ack("job", "cut off", result=b"late", attempt=1)
    assert site.witness.rows()["job"] == before
    assert site.witness.frames("job") == []
    plane.ack("job", "other", result=b"good", attempt=2)
    ended = site.witness.rows()["job"]
    with pytest.raises(FencedError):
        plane.ack("job", "cut off", result=b"late", attempt=1)
    assert site.witness.assert_all_ended(["job"])["job"] == ended
