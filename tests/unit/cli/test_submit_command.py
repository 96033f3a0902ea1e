"""``lakeshore submit``: a call of an importable function."""

import threading
import time
from contextlib import contextmanager

import pytest

from dreamlake.lakeshore import wire
from dreamlake.lakeshore.cli.submit import parse_arguments
from dreamlake.lakeshore.errors import ConfigError

pytestmark = pytest.mark.usefixtures("bodies")


@pytest.mark.parametrize(
    ("words", "args", "kwargs"),
    [
        ([], [], {}),
        (["2", "3.5", "true", "null"], [2, 3.5, True, None], {}),
        (["two words", "2x", "[1", "{'a': 1}"], ["two words", "2x", "[1", "{'a': 1}"], {}),
        (['"2"', "[1, 2]", '{"a": 1}'], ["2", [1, 2], {"a": 1}], {}),
        (
            ["1", "b=2", "name=Ada", "eq=a=b", "empty="],
            [1],
            {"b": 2, "name": "Ada", "eq": "a=b", "empty": ""},
        ),
        (["s3://bucket?a=1", "2+2=4", "a-b=c"], ["s3://bucket?a=1", "2+2=4", "a-b=c"], {}),
        (["-5", "-x"], [-5, "-x"], {}),
    ],
)
def test_arguments_are_json_where_they_are_json(words, args, kwargs):
    assert parse_arguments(words) == (args, kwargs)


@pytest.mark.parametrize(
    ("words", "said"),
    [(["a=1", "2"], "'2' follows a named one"), (["a=1", "a=2"], "argument a is given twice")],
)
def test_arguments_that_no_call_can_have_are_refused(words, said):
    with pytest.raises(ConfigError, match=said):
        parse_arguments(words)


def test_it_prints_the_id_alone(lakeshore, plane):
    ran = lakeshore("submit", "cli_bodies:add", "2", "b=3", "--queue", "q")
    assert (ran.status, ran.err) == (0, "")
    row = plane.get(ran.out.strip())
    assert (row["queue"], row["state"]) == ("q", "queued")
    ran = lakeshore("submit", "cli_bodies:add", "2", "--queue", "q", "--json")
    assert ran.json["queue"] == "q"
    assert plane.get(ran.json["id"]) is not None


def test_a_udf_goes_to_its_own_queue_with_its_own_settings(lakeshore, plane):
    row = plane.get(lakeshore("submit", "cli_bodies:bound", "1").out.strip())
    assert (row["queue"], row["retries"]) == ("bound", 2)
    row = plane.get(
        lakeshore("submit", "cli_bodies:bound", "1", "--queue", "q", "--retries", "0").out.strip()
    )
    assert (row["queue"], row["retries"]) == ("q", 0)


def test_options_reach_the_row(lakeshore, plane):
    flags = ["--priority", "2.5", "--retries", "4", "--run-timeout", "9", "--delay", "60", "--key", "once"]
    first = lakeshore("submit", "cli_bodies:add", "1", "--queue", "q", *flags).out.strip()
    row = plane.get(first)
    assert (row["priority"], row["retries"], row["timeout_s"], row["key"]) == (2.5, 4, 9.0, "once")
    assert row["due"] > plane.now() + 30
    assert lakeshore("submit", "cli_bodies:add", "1", "--queue", "q", *flags).out.strip() == first
    assert plane.count("q") == 1


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--run-timeout", "0"], "--run-timeout is a finite number above 0, not 0.0"),
        (["--delay", "-1"], "--delay is a finite number of at least 0, not -1.0"),
        (["--priority", "nan"], "--priority is a finite number, not nan"),
        (["--key", ""], "--key is a non-empty str"),
        (["--retries", "-1"], "Invalid value for '--retries'"),
        (["--queue", "a/b"], "queue name 'a/b'"),
    ],
)
def test_options_that_cannot_work_are_refused_by_their_names(lakeshore, plane, flags, said):
    ran = lakeshore("submit", "cli_bodies:add", "1", "--queue", "q", *flags)
    assert ran.status == 2
    assert said in ran.error
    assert plane.queues() == []


def test_a_function_inside_a_class(lakeshore):
    assert lakeshore("submit", "cli_bodies:Space.inner", "--queue", "q").status == 0


def test_wait_without_a_worker_ends_with_status_1_and_says_what_to_start(lakeshore):
    ran = lakeshore("submit", "cli_bodies:add", "1", "--queue", "q", "--wait", "--timeout", "0.1")
    assert ran.status == 1
    assert "lakeshore worker start --queue q" in ran.err


def test_arguments_that_do_not_fit_are_refused_in_one_line(lakeshore):
    ran = lakeshore("submit", "cli_bodies:add", "--queue", "q")
    assert ran.status == 2
    assert ran.error == "add() missing a required argument: 'a': see its parameters"


@pytest.mark.parametrize("words", [["--", "-2"], ["--", "--b"]])
def test_values_that_look_like_flags_follow_two_dashes(lakeshore, words):
    assert lakeshore("submit", "cli_bodies:add", "--queue", "q", *words).status == 0


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("cli_bodies", "'cli_bodies': name the function as MODULE:FUNCTION"),
        (":add", "name the function as MODULE:FUNCTION"),
        ("cli_bodies:", "name the function as MODULE:FUNCTION"),
        ("cli_bodis:add", "cannot import cli_bodis: ModuleNotFoundError: No module named 'cli_bodis'"),
        ("..x:add", "cannot import ..x"),
        ("cli_bodies:ad", "module cli_bodies has no ad: did you mean add?"),
        ("cli_bodies:Space.iner", "module cli_bodies has no Space.iner"),
        ("cli_bodies:__name__", "cli_bodies:__name__ is not a function"),
    ],
)
def test_a_function_that_is_not_there_is_answered_in_one_line(lakeshore, function, said):
    ran = lakeshore("submit", function, "--queue", "q")
    assert ran.status == 2
    assert said in ran.error


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("def f(:\n", "SyntaxError"),
        ("raise SystemExit('bye')\n", "SystemExit: bye"),
        ("import no_such_thing_at_all\n", "No module named 'no_such_thing_at_all'"),
    ],
)
def test_a_module_that_breaks_while_it_is_imported_is_one_line(lakeshore, bodies, code, said):
    (bodies / "cli_broken.py").write_text(code)
    ran = lakeshore("submit", "cli_broken:f", "--queue", "q")
    assert ran.status == 2
    assert ran.error.startswith("cannot import cli_broken")
    assert said in ran.error


def test_without_a_queue_it_says_how_to_name_one(lakeshore):
    ran = lakeshore("submit", "cli_bodies:add", "1")
    assert ran.error == "the function has no queue: give --queue NAME"


@pytest.mark.parametrize("state", ["draining", "paused", "archived"])
def test_a_queue_that_takes_none_is_status_2_and_says_how_to_open_it(lakeshore, plane, state):
    lakeshore("queues", "add", "q")
    plane.set_queue_state("q", state)
    ran = lakeshore("submit", "cli_bodies:add", "1", "--queue", "q")
    assert ran.status == 2
    assert f"queue 'q' is {state}" in ran.error
    assert "lakeshore queues unarchive q" in ran.error


@contextmanager
def answered(plane, end):
    """Let a consumer beside the block claim the next job of queue ``q`` and end it."""

    def work():
        listener = plane.listen("work:q")
        until = time.monotonic() + 30
        while (claimed := plane.claim("q", "worker")) is None and time.monotonic() < until:
            listener.wait(5)
        listener.close()
        end(claimed.id)

    worker = threading.Thread(target=work)
    worker.start()
    yield
    worker.join()


def test_a_failed_job_that_was_waited_for_is_status_1(lakeshore, plane):
    with answered(plane, lambda inv_id: plane.nack(inv_id, "worker", error="it broke", retry=False)):
        ran = lakeshore("submit", "cli_bodies:add", "1", "--queue", "q", "--wait", "--timeout", "20")
    assert ran.status == 1
    assert "it broke" in ran.err


def test_the_result_of_a_job_that_was_waited_for(lakeshore, plane):
    for flags in ([], ["--json"]):
        with answered(plane, lambda inv_id: plane.ack(inv_id, "worker", result=wire.pack({"sum": 3}))):
            ran = lakeshore(
                "submit", "cli_bodies:add", "1", "--queue", "q", "--wait", "--timeout", "20", *flags
            )
        assert ran.status == 0
        assert ran.json["result"] == {"sum": 3} if flags else ran.out == "{'sum': 3}\n"
