"""``lakeshore simulate``: policies tried on a trace, as a table, as JSON and as a page."""

import pytest

QUEUES = """\
apiVersion: lakeshore.dreamlake.ai/v1alpha1
kind: Queue
metadata: {name: gpu}
spec:
  elasticity: {kind: max_count, max: 3, idleTimeoutSeconds: 30}
  worker: {concurrency: 2}
"""


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("time,duration\n" + "".join(f"{second},2\n" for second in range(40)))
    return path


@pytest.fixture
def queue_file(tmp_path):
    def write(text=QUEUES):
        path = tmp_path / "queue.yaml"
        path.write_text(text)
        return path

    return write


def test_a_table_compares_the_policies_with_both_baselines(lakeshore, trace):
    ran = lakeshore("simulate", "--trace", trace, "-p", "fully-elastic", "-p", "max_count,max=2")
    assert (ran.status, ran.err) == (0, "")
    first, heads, *rows = ran.out.splitlines()
    assert first.startswith("40 jobs (jobs); ")
    assert heads.split() == [
        *("POLICY", "P50", "P95", "P99", "HOURS", "BUSY", "IDLE", "STARTING", "WASTED", "ACTIONS", "MOST"),
    ]
    assert [row.split("  ")[0] for row in rows] == [
        "fully-elastic",
        "max_count,max=2",
        "KEDA+HPA",
        "KEDA+HPA, no step limit",
    ]


def test_the_baselines_have_no_more_workers_than_the_file_allows(lakeshore, tmp_path, queue_file):
    path = tmp_path / "flood.csv"
    path.write_text("".join(f"0,{seconds}\n" for seconds in [60] * 100))
    told = lakeshore("simulate", "--queue", queue_file(), "--trace", path, "--json").json
    assert [run["most_workers"] for run in told["runs"]] == [3, 3, 3]


def test_json_tells_all_numbers_and_repeats_with_the_seed(lakeshore, trace):
    asked = ("simulate", "--trace", trace, "--start-delay", "0", "--json", "--seed")
    told = lakeshore(*asked, "4").json
    assert (told["trace"], told["jobs"], told["slots"]) == ("jobs", 40, 1)
    mine = told["runs"][0]
    assert mine["policy"] == "fully_elastic"
    assert mine["wait_s"]["p99"] <= 1.0
    assert mine["worker_s"]["busy"] == pytest.approx(80)
    assert lakeshore(*asked, "4").json == told
    assert lakeshore(*asked, "5").json != told


def test_the_start_delay_is_what_jobs_wait_for(lakeshore, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("0,1\n")
    waits = [
        lakeshore("simulate", "--trace", path, "--start-delay", delay, "--json").json["runs"][0]["wait_s"][
            "max"
        ]
        for delay in (1, 100)
    ]
    assert waits[0] < 5 < 30 < waits[1]


def test_a_queue_file_gives_the_policy_and_the_slots(lakeshore, trace, queue_file):
    told = lakeshore("simulate", "--queue", queue_file(), "--trace", trace, "--json").json
    assert [run["policy"] for run in told["runs"]] == ["queue gpu", "KEDA+HPA", "KEDA+HPA, no step limit"]
    assert told["slots"] == 2
    assert told["runs"][0]["most_workers"] <= 3
    asked = lakeshore("simulate", "--queue", queue_file(), "--slots", "5", "--trace", trace, "--json").json
    assert asked["slots"] == 5


def test_queues_that_differ_in_concurrency_ask_for_slots(lakeshore, trace, queue_file):
    other = QUEUES.replace("gpu", "cpu").replace("concurrency: 2", "concurrency: 1")
    path = queue_file(f"{QUEUES}---\n{other}")
    assert "give --slots" in lakeshore("simulate", "--queue", path, "--trace", trace).error
    assert lakeshore("simulate", "--queue", path, "--slots", "1", "--trace", trace).status == 0


def test_fields_of_a_policy_are_given_behind_its_kind(lakeshore, trace):
    policy = "pool-with-threshold, warm=0, max=4, threshold=0, scaleUp.maxStep=1"
    told = lakeshore("simulate", "-t", trace, "--start-delay", "0", "-p", policy, "--json").json
    assert told["runs"][0]["policy"] == policy
    assert told["runs"][0]["most_workers"] <= 4


@pytest.mark.parametrize("kind", ["fixed", "fully_elastic", "pool-with-threshold", "max-count"])
def test_a_kind_alone_is_enough(lakeshore, trace, kind):
    assert lakeshore("simulate", "-t", trace, "-p", kind, "--json").json["runs"][0]["unfinished"] == 0


def test_jobs_that_never_ran_are_told(lakeshore, trace):
    ran = lakeshore("simulate", "-t", trace, "-p", "fixed,replicas=0")
    assert "fixed,replicas=0: 40 jobs never ran: it never had a worker for them" in ran.out


def test_a_page_with_charts_is_written(lakeshore, tmp_path):
    page = tmp_path / "report.html"
    ran = lakeshore("simulate", "--shape", "batches", "--out", page)
    assert ran.out.splitlines()[-1] == f"charts in {page}"
    text = page.read_text()
    assert text.count("<figure>") == 3
    assert "<script" not in text
    assert lakeshore("simulate", "--shape", "batches", "--out", page, "--json").json["trace"] == "batches"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--shape", "steedy"), "--shape 'steedy' is not a built-in shape: did you mean steady?"),
        (("--shape", "burst", "--trace", "x.csv"), "--shape and --trace: give one of them"),
        (("--trace", "none.csv"), "none.csv: No such file or directory: give the path of a CSV"),
        (
            ("--policy", "max-cuont"),
            "--policy max-cuont: kind: 'max_cuont' is not a policy: did you mean max_count?",
        ),
        (("--policy", "max-count,max"), "'max' is not FIELD=VALUE, as in max-count,max=20"),
        (("--policy", "max-count,mux=3"), "mux: there is no such field of kind max_count: did you mean max?"),
        (("--policy", "max-count,max=many"), "max: 'many' is not a whole number"),
        (("--policy", "max-count,max=3,max.step=3"), "max has no fields of its own"),
        (("--policy", "fixed,scaleUp.economy=inf"), "scaleUp.economy"),
        (("--start-delay", "nan"), "--start-delay': Input should be"),
        (("--start-delay", "inf"), "--start-delay inf"),
        (("--queue", "none.yaml"), "none.yaml: No such file or directory"),
        (("--out", "no/such/folder.html", "--shape", "batches"), "--out no/such/folder.html: No such file"),
    ],
)
def test_each_mistake_is_one_line_that_says_what_to_do(lakeshore, args, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = lakeshore("simulate", *args)
    assert ran.status == 2
    assert message in ran.error


def test_the_line_of_a_trace_that_cannot_be_read_is_named(lakeshore, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("time,duration\n0,1\n1,soon\n")
    assert f"{path}:3: duration 'soon'" in lakeshore("simulate", "--trace", path).error
