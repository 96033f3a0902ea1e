"""Whatever users write into names, errors, frames and output stays text: on the page, and in a browser."""

import json

import pymongo
import pytest

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.dispatch.plane import Frame, WorkerRecord
from dreamlake.lakeshore.errors import ErrorInfo
from integration.ui.visitor import admin

ATTACKS = (
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 2">',
    "'><svg/onload='window.hacked = 3'>",
    "</title></pre></main><iframe srcdoc='<script>parent.hacked = 4</script>'></iframe>",
    "javascript:window.hacked=5",
    "{key}{form_key}",
)
TEXT = " ".join(ATTACKS) + " \ud800 \u202e end"
HARMLESS = "<script>window.hacked = 1</script>"
QUEUE = "/ui/ns/default/queues/q"
ALLOWED_TAGS = frozenset(
    "html head meta title link script body a header nav img div main span b form label select option button input "  # noqa: SIM905
    "h1 h2 p section table caption thead tbody tr th td dl dt dd ul li pre code time footer".split()
)


@pytest.fixture
def hostile(plane, submit, open_server):
    """A queue whose jobs, workers and decisions all carry attacks; the paths of its pages."""
    submit("bad", "streams", retries=0)
    now = plane.now()
    worker = TEXT.replace("\ud800", "")[:500]
    plane.register_worker(WorkerRecord(worker, "q", HARMLESS, 7, "active", 1, now, now, tags=(HARMLESS,)))
    claimed = plane.claim("q", worker)
    error = ErrorInfo(TEXT, TEXT, TEXT)
    plane.nack(claimed.id, worker, error=error, attempt=claimed.attempt, retry=False)
    bodies = [*ATTACKS, {attack: [attack] for attack in ATTACKS}, HARMLESS.encode()]
    frames = [wire.WireFrame(wire.FrameKind.VALUE, seq, body) for seq, body in enumerate(bodies)]
    plane.journal_append_many("streams", [Frame(frame.seq, frame.encode()) for frame in frames])
    plane.journal_append("log:streams", None, TEXT.encode("utf-8", "replace"))
    told = {
        "kind": "scale_up",
        "reason": TEXT.replace("\ud800", ""),
        "before": {"<script>hacked = 6</script>": HARMLESS},
        "after": {},
    }
    admin(open_server.url, "/v1/queues/q/elasticity-events", told)
    submission = {
        "invocation_id": "odd",
        "queue": "q",
        "args_blob": "",
        "run_config": {"key": HARMLESS},
        "correlation_id": HARMLESS,
        "parent_invocation_id": "bad",
    }
    admin(open_server.url, "/v1/producer/submit", submission)
    return [QUEUE, *[f"/ui/ns/default/job?id={name}" for name in ("bad", "streams", "odd")]]


@pytest.fixture
def hostile_names(mongo_url, mongo_database, submit, open_server):
    """Rows with names that no route would take, as another program might have left them; the paths of pages."""
    submit("plain")
    with pymongo.MongoClient(mongo_url, serverSelectionTimeoutMS=10_000) as client:
        database = client[mongo_database]
        row = database.invocations.find_one({"_id": "default/plain"})
        for place, attack in enumerate(ATTACKS):
            changed = {"_id": f"default/{attack}", "rootInvocationId": "plain", "parentInvocationId": "plain"}
            database.invocations.insert_one({**row, **changed, "order": row["order"] + place + 1})
        queue = database.queues.find_one({"name": "q"})
        for attack in ATTACKS:
            database.queues.insert_one(
                {**queue, "_id": f"default/{attack}", "name": attack, "kind": attack, "declared": True}
            )
    return ["/ui/ns/default", QUEUE, "/ui/ns/default/job?id=plain"]


def check(page):
    assert {tag for tag, _ in page.tags} <= ALLOWED_TAGS
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert tag != "script" or attributes["src"].startswith("/ui/static/ui.js?v=")
        assert tag != "img" or attributes["src"].startswith("/ui/static/icon.svg?v=")
    assert all(link.startswith(("/", "#")) for link in page.links)


def test_pages_hold_no_tag_and_no_handler_that_is_not_ours(hostile, visitor):
    for path in hostile:
        answer = visitor.get(path)
        assert answer.status == 200
        assert HARMLESS in answer.words
        check(answer.page)


def test_names_that_no_route_would_take_are_text_too(hostile_names, visitor):
    for path in hostile_names:
        answer = visitor.get(path)
        assert answer.status == 200
        assert HARMLESS in answer.words
        check(answer.page)


def test_error_pages_show_what_was_asked_for_as_text(visitor):
    for path in (
        "/ui/ns/%3Cscript%3Ex()%3C%2Fscript%3E",
        "/ui/ns/default/job?id=%3Cscript%3Ex()",
        "/ui?ns=%3Cb%3E",
    ):
        answer = visitor.get(path)
        assert answer.status in (400, 404)
        check(answer.page)


def test_nothing_of_it_runs_in_a_browser(hostile, hostile_names, open_server, browser):
    for path in [*hostile, *hostile_names]:
        page = browser.open(open_server.url + path)
        page.run("document.querySelectorAll('main a').forEach(a => a.focus())")
        # The content is renewed once: what comes that way must not run either.
        page.run(
            "window.renewed = 0; new MutationObserver(() => { window.renewed += 1 }).observe("
            "document.querySelector('main'), {subtree: true, childList: true, characterData: true})"
        )
        page.run("document.querySelector('main h1').textContent = 'spoiled'")
        page.wait("document.querySelector('main h1').textContent !== 'spoiled'")
        assert page.run("window.hacked ?? null") is None
        assert page.run("document.querySelectorAll('iframe, main script, main img').length") == 0
        assert page.complaints() == []
        page.close()


def test_what_a_reader_sees_is_what_was_written(hostile, open_server, browser):
    page = browser.open(open_server.url + hostile[2])
    shown = page.run("[...document.querySelectorAll('td .lines')].map(cell => cell.textContent)")
    assert shown[-len(ATTACKS) :] == [*ATTACKS][::-1]
    assert json.dumps(ATTACKS[0])[1:-1] in shown[1]
    page.close()
