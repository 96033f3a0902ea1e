"""What the pages show, as the server sends them."""

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.dispatch.plane import Frame, QueueRecord, WorkerRecord
from dreamlake.lakeshore.errors import ErrorInfo
from integration.ui.visitor import admin

QUEUE = "/ui/ns/default/queues/q"


def register(plane, worker_id="host/1", queue="q"):
    now = plane.now()
    plane.register_worker(WorkerRecord(worker_id, queue, "host", 7, "active", 2, now, now))


def job(inv_id):
    return f"/ui/ns/default/job?id={inv_id}"


def frames(*bodies):
    made = [wire.WireFrame(wire.FrameKind.VALUE, seq, body) for seq, body in enumerate(bodies)]
    return [Frame(frame.seq, frame.encode()) for frame in made]


def test_the_first_page_leads_to_the_queues(visitor):
    answer = visitor.get("/ui")
    assert (answer.status, answer.headers["location"]) == (303, "/ui/ns/default")
    assert visitor.get("/ui/").status == 303
    assert "No queues yet" in visitor.get("/ui/ns/default").words


def test_queues_are_listed_with_kind_state_depth_and_workers(visitor, plane, submit):
    plane.declare_queue(QueueRecord("idle", "filo"))
    submit("a", "b", "c")
    submit("later", delay_s=1000)
    register(plane)
    plane.claim("q", "host/1")
    words = visitor.get("/ui/ns/default").words
    assert "2 queues, 2 waiting, 1 running" in words
    assert "idle active 0 0 0 – 0 filo" in words  # noqa: RUF001
    row = words.partition("filo ")[2]
    assert row.startswith("q active 2 1 1 ")
    assert row.partition(" s ")[2].startswith("1 fifo")


def test_a_queue_has_its_jobs_by_state_and_by_page(visitor, plane, submit):
    submit(*[f"job-{n:03}" for n in range(60)])
    claimed = plane.claim("q", "w")
    plane.ack(claimed.id, "w", result=wire.pack(1), attempt=claimed.attempt)
    newest = visitor.get(QUEUE)
    assert "job-059" in newest.words and "job-009" not in newest.words
    assert f"{QUEUE}?page=2" in newest.page.links
    older = visitor.get(f"{QUEUE}?page=2")
    assert "job-009" in older.words and "job-010" not in older.words
    assert not [link for link in older.page.links if link.endswith("page=3")]
    ended = visitor.get(f"{QUEUE}?state=succeeded").words
    assert "job-000" in ended and "job-001" not in ended


def test_workers_show_what_they_hold_and_whether_they_what_is_idle(visitor, plane, submit):
    submit("held")
    register(plane, "host/1")
    register(plane, "host/2")
    plane.claim("q", "host/1")
    answer = visitor.get(QUEUE)
    assert "1 of 2 held" in answer.words
    assert job("held") in answer.page.links
    assert "host/2 active 0 of 2 just now just now host (7)" in answer.words


def test_a_cordoned_worker_is_marked(visitor, plane, submit, open_server):
    submit("a")
    register(plane, "first")
    admin(open_server.url, "/v1/workers/first/cordon", {})
    assert "first active cordoned 0 of 2" in visitor.get(QUEUE).words


def test_scaling_decisions_are_told_with_their_reasons(visitor, submit, open_server):
    submit("a")
    told = {"kind": "scale_up", "reason": "9 jobs wait", "before": {"workers": 1}, "after": {"workers": 3}}
    admin(open_server.url, "/v1/queues/q/elasticity-events", told)
    assert "scaled up 9 jobs wait workers 1 → 3" in visitor.get(QUEUE).words


def test_a_job_shows_state_error_and_traceback(visitor, plane, submit):
    submit("bad", retries=0)
    claimed = plane.claim("q", "w")
    error = ErrorInfo("ValueError", "no such shard", 'Traceback\n  File "train.py", line 3')
    plane.nack(claimed.id, "w", error=error, attempt=claimed.attempt, retry=False)
    words = visitor.get(job("bad")).words
    assert "bad failed" in words
    assert "ValueError : no such shard" in words
    assert 'Traceback File "train.py", line 3' in words
    assert "ValueError: no such shard" in visitor.get(QUEUE).words


def test_a_job_shows_its_pipeline(visitor, submit):
    submit("root")
    submit("mid", parent="root")
    submit("leaf", "twig", parent="mid")
    submit("aside", parent="root")
    answer = visitor.get(job("mid"))
    pipeline = answer.words.partition("Pipeline")[2].partition("Stream")[0]
    assert [word for word in pipeline.split() if word not in ("queued", "q")] == [
        "root",
        "mid",
        "leaf",
        "twig",
        "aside",
    ]
    assert answer.text.count("<ul>") == answer.text.count("</ul>")
    assert answer.text.count("<li>") == answer.text.count("</li>")


def test_a_job_shows_its_newest_frames(visitor, plane, submit):
    submit("job")
    plane.journal_append_many("job", frames({"step": 0}, {"step": 1}))
    assert "1 value {'step': 1} 11 B 0 value {'step': 0}" in visitor.get(job("job")).words
    plane.journal_append_many("job", [Frame(2, b"\xc1 no frame")])
    assert "<10 B: c1 20 6e 6f" in visitor.get(job("job")).words


def test_of_many_frames_the_newest_are_shown(visitor, plane, submit):
    submit("job")
    made = frames(*[{"step": n} for n in range(1_234)])
    plane.journal_append_many("job", made)
    words = visitor.get(job("job")).words
    assert "{'step': 1233}" in words and "{'step': 1184}" in words
    assert "{'step': 1183}" not in words
    assert "The newest 50 frames; there are earlier ones." in words


def test_what_is_left_of_a_trimmed_stream_is_shown_and_what_follows_a_gap_is_waited_for(
    visitor, plane, submit
):
    submit("job")
    made = frames(*[{"step": n} for n in range(100)])
    plane.journal_append_many("job", made[:90])
    plane.journal_trim("job", keep_last=3)
    plane.journal_append_many("job", made[95:])
    shown = [word for word in visitor.get(job("job")).words.split() if word.endswith("}")]
    assert shown == ["89}", "88}", "87}"]


def test_the_stream_of_a_job_that_ended_stays(visitor, plane, submit):
    submit("job")
    claimed = plane.claim("q", "w")
    last = wire.WireFrame(wire.FrameKind.END, 2).encode()
    plane.journal_append_many("job", [*frames(1, 2), Frame(2, last, True)], worker_id="w")
    plane.ack("job", "w", result=wire.pack(2), attempt=claimed.attempt)
    assert "2 end 5 B 1 value 2 5 B 0 value 1 5 B" in visitor.get(job("job")).words


def test_large_frames_are_few(visitor, plane, submit):
    submit("job")
    plane.journal_append_many("job", frames(*[bytes(200_000) for _ in range(6)]))
    answer = visitor.get(job("job"))
    assert "5 <200 kB:" in answer.words
    assert len(answer.text) < 20_000


def test_a_job_shows_what_it_printed(visitor, plane, submit):
    submit("job")
    for piece in (b"10%\r20%\r", b"100%\n\x1b[31mdone\x1b[0m \xff\n"):
        plane.journal_append("log:job", None, piece)
    assert "Printed output 100% done \ufffd" in visitor.get(job("job")).words


def test_a_job_is_found_from_the_list_of_queues(visitor, submit):
    submit("a/b:c")
    assert visitor.get("/ui/ns/default/job?id=a%2Fb%3Ac").status == 200
    assert visitor.get("/ui/ns/default/job?id=%20a%2Fb%3Ac%20").status == 200


def test_what_is_not_there_is_said_in_one_line(visitor):
    for path, status, text in [
        ("/ui/ns/default/queues/none", 404, "there is no queue 'none' in this namespace"),
        (job("none"), 404, "there is no job none in the namespace default"),
        ("/ui/ns/nobody", 404, "there is no namespace 'nobody'"),
        ("/ui/ns/default/job", 400, "no job id was given"),
        ("/ui/ns/default/job?id=%3Cb%3E", 400, "invocation id '<b>': use 1 to 128 letters"),
        ("/ui/ns/default?page=x", 400, "page='x': use an integer"),
        (f"{QUEUE}?state=odd", 404, "there is no queue 'q'"),
        ("/ui/static/none.js", 404, "there is no such file"),
    ]:
        answer = visitor.get(path)
        assert answer.status == status, path
        assert text in answer.words, path
        assert answer.headers["content-type"].startswith("text/html")
        assert len(answer.page.all("h1")) == 1


def test_a_store_that_is_away_is_said_in_one_line(visitor, submit, document_server):
    submit("a")
    document_server.kill()
    answer = visitor.get("/ui/ns/default")
    assert answer.status == 503
    assert "retry-after" in answer.headers
    assert answer.page.all("p")[0] == {"class": "problem", "role": "alert"}
    document_server.start()


def test_pages_have_landmarks_headings_and_named_tables(visitor, plane, submit):
    submit("a")
    register(plane)
    for path in ("/ui/ns/default", QUEUE, job("a")):
        page = visitor.get(path).page
        for tag in ("header", "main", "footer", "nav", "title", "h1"):
            assert page.all(tag), (path, tag)
        assert page.all("html")[0]["lang"] == "en"
        assert len(page.all("table")) == len(page.all("caption"))
        assert all("scope" in cell for cell in page.all("th"))
        assert [part for part in page.all("p") if part.get("aria-live") == "polite"]
