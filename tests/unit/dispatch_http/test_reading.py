"""Rows, results and journals as the control plane tells them, in the words of the local plane."""

import time

import pytest

from dreamlake.lakeshore.dispatch.plane import QueueRecord, QueueSignals, WorkerRecord
from dreamlake.lakeshore.errors import (
    DispatchError,
    InvocationCancelledError,
    InvocationFailedError,
    RefusedError,
)
from http_peer import error, reply

ROW = {"id": "a", "queue": "q", "state": "queued", "submitted_at": 5.0, "due_at": 7.0, "error": None}
QUEUE = {"name": "q", "kind": "fifo", "kind_params": {}, "state": "active", "declared": True}


def routes(peer, **answers):
    """Answer by the last words of the path."""

    def answer(request):
        path = request.path.partition("?")[0]
        name = path.removeprefix("/v1/").replace("/", "_").replace("-", "_")
        said = answers[name]
        return said(request) if callable(said) else said

    peer.answer = answer


def test_a_row_has_the_names_of_the_local_plane(peer, plane):
    told = {**ROW, "state": "timeout", "root": "r", "error": {"type": "E", "message": "m"}}
    peer.script(reply({"invocation": told}))
    row = plane.get("a")
    assert (row["state"], row["due"], row["root"]) == ("failed", 7.0, "r")
    assert row["error"] == {"type": "E", "message": "m"}
    assert "due_at" not in row
    peer.script(error("not_found", 404))
    assert plane.get("a") is None


def test_states_are_asked_for_under_all_their_names(peer, plane):
    peer.answer = lambda request: reply(
        {"count": {"failed": 2, "timeout": 3, "killed": 4}[request.body["state"]]}
    )
    assert plane.count("q", "failed") == 5
    assert plane.count("q", "cancelled") == 4

    def rows(request):
        name = "timeout" if "state=timeout" in request.path else "failed"
        times = (9.0, 4.0) if name == "timeout" else (8.0, 3.0)
        return reply(
            {"invocations": [{**ROW, "id": f"{name}{at}", "state": name, "submitted_at": at} for at in times]}
        )

    peer.answer = rows
    found = plane.invocations(queue="q", state="failed", limit=3)
    assert [row["id"] for row in found] == ["timeout9.0", "failed8.0", "timeout4.0"]
    assert {row["state"] for row in found} == {"failed"}
    assert "queue=q" in peer.requests[-1].path
    assert "limit=3" in peer.requests[-1].path


def test_a_result_is_polled_for_until_it_is_there(peer, plane):
    pending = reply({"state": "pending", "status": "running"})
    peer.script(pending, pending, reply({"state": "succeeded", "result_blob": b"r"}))
    assert plane.result("a", timeout=100) == b"r"
    assert [request.body["timeout_s"] for request in peer.requests] == [20.0] * 3
    peer.script(reply({"state": "succeeded", "result_blob": None}))
    assert plane.result("a") == b""


def test_an_end_without_success_is_the_same_error_as_at_home(peer, plane):
    peer.script(reply({"state": "killed", "error": None}))
    with pytest.raises(InvocationCancelledError, match="invocation a was cancelled"):
        plane.result("a")
    for state in ("failed", "timeout"):
        peer.script(reply({"state": state, "error": {"type": "E", "message": "m"}}))
        with pytest.raises(InvocationFailedError, match=r"^invocation a failed: E: m$"):
            plane.result("a")
    peer.script(error("not_found", 404))
    with pytest.raises(DispatchError, match="no invocation a on this plane"):
        plane.result("a")


@pytest.mark.parametrize(
    ("row", "queue", "seen", "words"),
    [
        ({"state": "running"}, QUEUE, [], "still 'running' after 0s: ask again"),
        ({}, {**QUEUE, "state": "paused"}, [], "queue 'q' is paused"),
        ({}, QUEUE, [990.0, 100.0], r"its queue's workers \(1\) are busy"),
        ({}, QUEUE, [], "no worker is consuming queue 'q'.*give both the same LAKESHORE_URL"),
    ],
)
def test_a_result_that_is_late_says_why(peer, plane, row, queue, seen, words):
    worker = {
        "id": "w",
        "queue": "q",
        "host": "h",
        "pid": 1,
        "state": "active",
        "concurrency": 1,
        "started_at": 1,
    }
    routes(
        peer,
        producer_await=reply({"state": "pending", "status": "queued"}),
        producer_get=reply({"invocation": {**ROW, **row}}),
        producer_queues_q=reply({"queue": queue}),
        producer_clock=reply({"now": 1000.0}),
        producer_workers=reply({"workers": [{**worker, "last_seen_at": at} for at in seen]}),
    )
    with pytest.raises(TimeoutError, match=words):
        plane.result("a", timeout=0)


def page(*entries, done=False, missing=None):
    return reply({"entries": entries, "done": done, "missing": missing, "state": None})


def test_a_journal_is_read_page_by_page_to_its_end(peer, plane):
    peer.script(page([0, b"0"], [1, b"1"]), page(), page([2, b"2"]), page(done=True))
    assert list(plane.journal_read("log:a b")) == [(0, b"0"), (1, b"1"), (2, b"2")]
    assert [request.body["since"] for request in peer.requests] == [-1, 1, 1, 2]
    assert {request.body["journal"] for request in peer.requests} == {"log:a b"}


def test_a_journal_with_a_hole_or_in_silence_says_so(peer, plane):
    peer.script(page([0, b"0"], done=True, missing=1))
    reader = plane.journal_read("a")
    assert next(reader) == (0, b"0")
    with pytest.raises(DispatchError, match="journal a has ended and its frame 1 never came"):
        next(reader)
    peer.script(page())
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"journal a: nothing came after frame 3 for 0.1s"):
        list(plane.journal_read("a", since=3, timeout=0.1))
    assert time.monotonic() - began < 5


def test_claims_are_read_and_large_arguments_fetched(peer, plane):
    body = {
        "invocation_id": "a",
        "queue": "q",
        "args_blob": b"env",
        "attempt": 2,
        "crashes": 1,
        "run_config": {"retries": 4, "timeout_s": 2.5, "backoff": {"base_s": 1, "cap_s": 2}, "unknown": 1},
    }
    large = {"invocation_id": "b", "args_ref": {"ref": "blob/1", "size": 7}, "attempt": 1, "run_config": None}
    commands = [
        {"id": "1", "kind": "run", "body": body},
        {"id": "2", "kind": "hibernate", "body": {"reason": "idle"}},
        {"id": "3", "kind": "run", "body": large},
    ]
    routes(
        peer,
        daemon_poll=reply({"commands": commands, "fenced": [], "next_due_s": None}),
        **{"producer_payloads_blob%2F1": reply(b"fetched", kind="application/octet-stream")},
    )
    first, second = plane.claim_many("q", "w", 5, kind="boltzmann", temperature=0.5, lease_s=9)
    assert (first.id, first.envelope, first.attempt, first.crashes) == ("a", b"env", 2, 1)
    assert (first.retries, first.timeout_s, first.backoff.cap_s) == (4, 2.5, 2.0)
    assert (second.id, second.envelope, second.queue, second.backoff) == ("b", b"fetched", "q", None)
    claim_id = peer.requests[0].body["claim_id"]
    assert peer.requests[0].body == {
        "claim_id": claim_id,
        "worker_id": "w",
        "queue": "q",
        "timeout_s": 0.0,
        "lease_s": 9.0,
        "kind": "boltzmann",
        "temperature": 0.5,
        "max": 5,
    }


def test_arguments_are_fetched_from_where_the_control_plane_points_without_the_token(peer, connect):
    from http_peer import Peer

    store = Peer()
    store.script(reply(b"from the store", kind="binary/octet-stream"))
    try:
        body = {"invocation_id": "b", "args_ref": "r", "attempt": 1}
        routes(
            peer,
            daemon_poll=reply({"commands": [{"id": "1", "kind": "run", "body": body}]}),
            producer_payloads_r=reply(b"", 307, [f"location: {store.url}/bucket/key?signature=x%2Fy"]),
        )
        assert connect(token="dlk_secret").claim("q", "w").envelope == b"from the store"
        (request,) = store.requests
        assert request.path == "/bucket/key?signature=x%2Fy"
        assert "authorization" not in request.headers
    finally:
        store.close()


def test_frames_beyond_one_request_go_in_several(peer, plane):
    from dreamlake.lakeshore.dispatch.plane import Frame

    peer.script(reply({"seqs": []}))
    plane.journal_append_many("j", [Frame(n, b"x") for n in range(25_000)])
    assert [len(request.body["frames"]) for request in peer.requests] == [10_000, 10_000, 5_000]
    peer.requests.clear()
    plane.journal_append_many("a", [], worker_id="w")
    assert [(request.path, request.body["frames"]) for request in peer.requests] == [
        ("/v1/daemon/result-chunk", [])
    ]


def test_a_report_is_clipped_to_what_servers_take(peer, plane):
    from dreamlake.lakeshore.errors import ErrorInfo

    peer.script(reply({"ok": True}))
    plane.nack("a", "w", error=ErrorInfo("T" * 5000, "m" * 5_000_000, "x" * 9_000_000 + "end"), retry=False)
    error = peer.requests[0].body["error"]
    assert (len(error["type"]), len(error["message"])) == (1000, 1_000_000)
    assert error["traceback"].endswith("xend")
    assert len(error["traceback"]) == 1_000_000


def test_a_claim_whose_arguments_cannot_be_had_is_handed_back(peer, plane):
    body = {"invocation_id": "b", "args_ref": "gone", "attempt": 1}
    routes(
        peer,
        daemon_poll=reply({"commands": [{"id": "1", "kind": "run", "body": body}]}),
        producer_payloads_gone=error("not_found", 404, "no payload gone"),
        daemon_release=reply({"released": 1}),
    )
    with pytest.raises(DispatchError, match="no payload gone"):
        plane.claim("q", "w")
    assert peer.requests[-1].body == {"worker_id": "w", "ids": ["b"]}


def test_claims_of_more_than_a_thousand_are_several_requests(peer, plane):
    left = [2300]

    def poll(request):
        count = min(request.body["max"], left[0])
        left[0] -= count
        run = {"args_blob": b"e", "attempt": 1}
        return reply(
            {
                "commands": [
                    {"id": str(n), "kind": "run", "body": {**run, "invocation_id": f"{left[0]}-{n}"}}
                    for n in range(count)
                ]
            }
        )

    peer.answer = poll
    assert len(plane.claim_many("q", "w", 5000)) == 2300
    assert [request.body["max"] for request in peer.requests] == [1000, 1000, 1000]
    assert plane.claim_many("q", "w", 0) == []


def test_renewals_and_releases_of_nothing_ask_nothing(peer, plane):
    assert plane.renew([], "w") == set()
    assert plane.release([], "w") == 0
    plane.journal_append_many("j", [])
    assert peer.requests == []


def test_queues_are_read_and_declared(peer, plane):
    peer.script(reply({"queue": {**QUEUE, "kind": "boltzmann", "kind_params": {"temperature": 0.5}}}))
    assert plane.queue_record("q") == QueueRecord("q", "boltzmann", "active", 0.5)
    plane.declare_queue(QueueRecord("a:b", "boltzmann", temperature=0.5))
    assert (peer.requests[-1].method, peer.requests[-1].path) == ("PUT", "/v1/producer/queues/a%3Ab")
    assert peer.requests[-1].body == {"kind": "boltzmann", "kind_params": {"temperature": 0.5}}
    peer.script(reply({"queue": {**QUEUE, "declared": False}}))
    assert plane.queue_record("q") is None
    peer.script(reply({"queues": [{**QUEUE, "name": "z"}, QUEUE]}))
    assert [record.name for record in plane.queues()] == ["q", "z"]
    peer.script(error("not_found", 404))
    assert plane.queue_record("q") is None
    with pytest.raises(DispatchError, match=r"no queue 'q'.*lakeshore queues add q"):
        plane.set_queue_state("q", "paused")


def test_signals_and_workers_are_read(peer, plane):
    fields = {
        "queue": "q",
        "queued": 1,
        "delayed": 2,
        "leased": 3,
        "oldest_age_s": 4.0,
        "arrived": 5,
        "finished": 6,
        "mean_duration_s": None,
        "as_of": 7.0,
        "revision": 8,
    }
    peer.script(reply({**fields, "a field of the future": 9}))
    assert plane.signals("q") == QueueSignals(**fields)
    record = WorkerRecord("w", "q", "h", 1, "active", 2, 1.0, 2.0, 3, None, ("gpu",))
    told = {**{name: getattr(record, name) for name in WorkerRecord.__slots__}, "stale": False}
    peer.script(reply({"workers": [told]}))
    assert plane.workers("q") == [record]
    assert peer.requests[-1].path == "/v1/producer/workers?queue=q"
    peer.script(reply({"worker_id": "w", "now": 1.0, "drain": False}))
    plane.register_worker(record)
    assert peer.requests[-1].body["tags"] == ["gpu"]


def test_a_refused_frame_is_a_refusal(peer, plane):
    peer.script(error("refused", 409, "journal j ended with frame 0: frame 1 cannot follow"))
    with pytest.raises(RefusedError, match="journal j ended with frame 0"):
        plane.journal_append("j", 1, b"late")
