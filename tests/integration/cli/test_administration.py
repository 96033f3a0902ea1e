"""``tokens``, ``namespaces``, ``workers``, ``queues events`` and limits, on a real control plane."""

import json
import signal
import socket

import pytest

from dreamlake.lakeshore.dispatch.plane import WorkerRecord

ONLY_THERE = [
    ("tokens", "list"),
    ("tokens", "add", "ci", "--scopes", "producer"),
    ("tokens", "revoke", "x"),
    ("namespaces", "list"),
    ("namespaces", "add", "acme"),
    ("namespaces", "delete", "acme"),
    ("workers", "cordon", "w"),
    ("workers", "uncordon", "w"),
    ("workers", "drain", "w"),
    ("queues", "events", "q"),
    ("queues", "add", "q", "--max-depth", "5"),
    ("queues", "add", "q", "--retention", "7d"),
]


def one_line(ran, status=2):
    assert (ran.returncode, ran.stdout) == (status, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith("lakeshore: ")
    return line.removeprefix("lakeshore: ")


def shown(lakeshore, *words):
    ran = lakeshore(*words, "--json")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("words", ONLY_THERE, ids=" ".join)
def test_what_the_local_plane_does_not_have_says_that_it_needs_a_url(inside, home, words):
    assert one_line(inside(*words)).endswith("only on a control plane: name one with --url or LAKESHORE_URL")
    assert not (home / "dispatch.sqlite").exists()


def test_a_token_is_printed_alone_works_and_is_revoked(lakeshore, env, far):
    ran = lakeshore("tokens", "add", "ci", "--scopes", "producer, worker", "--expires", "2h")
    assert ran.returncode == 0
    (token,) = ran.stdout.splitlines()
    assert token.startswith("dlk_")
    assert token not in ran.stderr
    assert "shown this once" in ran.stderr
    (row,) = [row for row in shown(lakeshore, "tokens", "list") if row["name"] == "ci"]
    assert (row["scopes"], row["revoked_at"]) == (["producer", "worker"], None)
    (line,) = [line for line in lakeshore("tokens", "list").stdout.splitlines() if row["id"] in line]
    assert "good for 2 h" in line
    assert token not in line
    assert lakeshore("jobs", "list", "--token", token).returncode == 0
    assert lakeshore("tokens", "revoke", row["id"]).stdout == f"token {row['id']} (ci) is revoked\n"
    assert "refuses the token" in one_line(lakeshore("jobs", "list", "--token", token))
    (line,) = [line for line in lakeshore("tokens", "list").stdout.splitlines() if row["id"] in line]
    assert "revoked" in line


def test_a_token_as_json_holds_its_text_once(lakeshore, far):
    made = shown(lakeshore, "tokens", "add", "bot", "--scopes", "operator")
    assert made["token"].startswith("dlk_")
    assert all("token" not in row for row in shown(lakeshore, "tokens", "list"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tokens", "add", "ci", "--scopes", "prodcer"], "--scopes prodcer: did you mean producer?"),
        (["tokens", "add", "ci", "--scopes", ","], "--scopes ',': name one or more of producer"),
        (["tokens", "add", "ci"], "Missing option '--scopes'"),
        (
            ["tokens", "add", "ci", "--scopes", "worker", "--expires", "soon"],
            "--expires 'soon': write a span",
        ),
        (["tokens", "add", "ci", "--scopes", "worker", "--expires", "0"], "--expires 0: give a span above 0"),
        (["tokens", "revoke", "nothing-like-it"], "there is no token with the id 'nothing-like-it'"),
        (["namespaces", "add", "a b"], "namespace 'a b'"),
        (["namespaces", "delete", "default"], "the namespace 'default' is always there"),
        (["namespaces", "delete", "nowhere"], "there is no namespace 'nowhere'"),
        (["workers", "drain", "nobody"], "there is no worker 'nobody'"),
        (["workers", "list", "--queue", "nowhere"], "there is no queue 'nowhere'"),
        (["queues", "events", "nowhere"], "there is no queue 'nowhere'"),
        (["queues", "add", "q", "--on-full", "blok"], "--on-full blok: did you mean block?"),
        (["queues", "add", "q", "--burst", "3"], "--burst goes with --rate-limit"),
        (["queues", "add", "q", "--rate-limit", "2", "--burst", "0.5"], "--burst 0.5: give a number"),
        (["queues", "add", "q", "--rate-limit", "-1"], "Invalid value for '--rate-limit'"),
        (["queues", "add", "q", "--max-depth", "-1"], "Invalid value for '--max-depth'"),
        (["queues", "add", "q", "--retention", "0"], "--retention 0: give a span above 0"),
        (["queues", "add", "q", "--deadline-cutoff", "x"], "--deadline-cutoff 'x': write a span"),
    ],
)
def test_what_cannot_be_is_one_line(inside, far, words, said):
    assert said in one_line(inside(*words))


def test_a_token_given_where_an_id_belongs_is_not_repeated(inside, far):
    text = "dlk_" + "s" * 43
    assert text not in one_line(inside("tokens", "revoke", text))


def test_namespaces_are_walls(lakeshore, env, far):
    assert lakeshore("namespaces", "add", "acme").stdout == "namespace acme is there\n"
    assert {"acme", "default"} <= {row["name"] for row in shown(lakeshore, "namespaces", "list")}
    assert "always there" in lakeshore("namespaces", "list").stdout
    lakeshore("queues", "add", "walled", "--namespace", "acme")
    assert [row["name"] for row in shown(lakeshore, "queues", "list", "--namespace", "acme")] == ["walled"]
    assert "walled" not in {row["name"] for row in shown(lakeshore, "queues", "list")}
    token = lakeshore("tokens", "add", "theirs", "--scopes", "admin", "--namespace", "acme").stdout.strip()
    assert [row["name"] for row in shown(lakeshore, "queues", "list", "--token", token)] == ["walled"]
    assert "this needs an admin of all namespaces" in one_line(
        lakeshore("namespaces", "add", "mine", "--token", token)
    )
    assert "still has" in one_line(lakeshore("namespaces", "delete", "acme"))
    lakeshore("namespaces", "add", "empty")
    assert lakeshore("namespaces", "delete", "empty").stdout == "namespace empty is deleted\n"
    assert "empty" not in {row["name"] for row in shown(lakeshore, "namespaces", "list")}


@pytest.fixture
def worker(far):
    now = far.plane.now()
    far.plane.register_worker(
        WorkerRecord("hand", "hands", socket.gethostname(), 1, "active", 2, now, now, tags=("a",))
    )
    yield "hand"
    far.plane.remove_worker("hand")


def test_workers_are_listed_and_take_orders(lakeshore, far, worker):
    far.plane.submit("hands", b"x", id="in-hand-1")
    (row,) = shown(lakeshore, "workers", "list", "--queue", "hands")
    assert (row["id"], row["state"], row["cordoned"], row["concurrency"]) == ("hand", "active", False, 2)
    assert lakeshore("workers", "cordon", worker).stdout == "worker hand takes no more jobs\n"
    assert far.plane.claim("hands", worker) is None
    (line,) = lakeshore("workers", "list", "--queue", "hands").stdout.splitlines()[1:]
    assert "active cordoned" in line
    lakeshore("workers", "uncordon", worker)
    assert far.plane.claim("hands", worker).id == "in-hand-1"
    assert "1 of 2" in lakeshore("workers", "list").stdout
    assert shown(lakeshore, "workers", "drain", worker) == [{"id": "hand", "order": "drain"}]
    assert shown(lakeshore, "workers", "list", "--queue", "hands")[0]["state"] == "draining"
    assert far.plane.drain_ordered(worker) is False
    far.plane.renew(["in-hand-1"], worker)
    assert far.plane.drain_ordered(worker) is True


def test_orders_to_several_workers_are_given_to_all_or_none(lakeshore, far, worker):
    assert "there is no worker 'nobody'" in one_line(lakeshore("workers", "cordon", worker, "nobody"))
    assert not shown(lakeshore, "workers", "list", "--queue", "hands")[0]["cordoned"]


def test_workers_are_listed_on_the_local_plane_too(lakeshore, plane):
    assert "no workers: start one with" in lakeshore("workers", "list").stdout
    now = plane.now()
    plane.register_worker(WorkerRecord("near", "q", "here", 1, "active", 1, now, now))
    (row,) = shown(lakeshore, "workers", "list")
    assert (row["id"], row["queue"], row["leased"]) == ("near", "q", 0)
    head, line = lakeshore("workers", "list").stdout.splitlines()
    assert head.split() == ["WORKER", "QUEUE", "HOST", "PID", "STATE", "JOBS", "STARTED", "SEEN"]
    assert line.split()[:5] == ["near", "q", "here", "1", "active"]


def test_decisions_are_shown_newest_first_and_quiet_ones_when_asked(lakeshore, far):
    lakeshore("queues", "add", "scaled")
    assert "no decisions yet" in lakeshore("queues", "events", "scaled").stdout
    for kind, before, after in (("scale_up", 0, 2), ("tick_noop", 2, 2), ("scale_down", 2, 0)):
        far.rest.add_elasticity_event(
            "scaled", kind, f"because {kind}", before={"workers": before}, after={"desired": after}
        )
    head, *lines = lakeshore("queues", "events", "scaled").stdout.splitlines()
    assert head.split() == ["AGE", "DECISION", "WORKERS", "WHY"]
    assert [line.split()[2] for line in lines] == ["scale_down", "scale_up"]
    assert "2 -> 0" in lines[0]
    assert "because scale_down" in lines[0]
    kinds = [row["kind"] for row in shown(lakeshore, "queues", "events", "scaled", "--verbose")]
    assert kinds == ["scale_down", "tick_noop", "scale_up"]
    assert len(shown(lakeshore, "queues", "events", "scaled", "--limit", "1")) == 1


def test_decisions_are_followed_oldest_first_until_ctrl_c(lakeshore, start, far):
    lakeshore("queues", "add", "followed")
    tell = far.rest.add_elasticity_event
    for turn in range(3):
        tell("followed", "scale_up", f"turn {turn}", before={"workers": turn}, after={"desired": turn + 1})
    follower = start("queues", "events", "followed", "--follow")
    assert [follower.stdout.readline().split("  ")[-1].strip() for _ in range(3)] == [
        "turn 0",
        "turn 1",
        "turn 2",
    ]
    tell("followed", "scale_down", "turn 3", before={}, after={})
    assert "? -> ?" in follower.stdout.readline()
    follower.send_signal(signal.SIGINT)
    out, err = follower.communicate(timeout=20)
    assert (follower.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_limits_are_set_one_by_one_kept_shown_and_taken_away(lakeshore, far):
    add = ("queues", "add", "limited")
    ran = lakeshore(
        *add, "--kind", "priority", "--max-depth", "2", "--on-full", "reject", "--retention", "2d"
    )
    assert ran.stdout.splitlines()[0] == "queue limited is active (priority)"
    row = shown(lakeshore, *add, "--rate-limit", "1000", "--burst", "50", "--deadline-cutoff", "5s")
    assert row["kind"] == "priority"
    assert row["retention_s"] == 172_800
    assert row["admission"] == {
        "max_depth": 2,
        "on_full": "reject",
        "rate_limit": {"rate": 1000, "burst": 50},
        "deadline_cutoff_s": 5,
    }
    told = lakeshore("queues", "show", "limited").stdout
    assert "at most 2 jobs waiting or running, then more is refused" in told
    assert "for 2 d" in told
    ids = [lakeshore("submit", "cli_jobs:add", "1", "--queue", "limited").returncode for _ in range(2)]
    assert ids == [0, 0]
    assert "limited" in one_line(lakeshore("submit", "cli_jobs:add", "1", "--queue", "limited"))
    assert "max_depth" not in shown(lakeshore, *add, "--max-depth", "0")["admission"]
    assert lakeshore("submit", "cli_jobs:add", "1", "--queue", "limited").returncode == 0
    assert shown(lakeshore, *add, "--kind", "fifo")["admission"]["rate_limit"]["rate"] == 1000
