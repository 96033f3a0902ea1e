"""Any exception becomes type, message and traceback; a dead process becomes words."""

import signal

import pytest

from dreamlake.lakeshore.attempt.failure import crash_info, error_info
from dreamlake.lakeshore.errors import ErrorInfo, InvocationFailedError


class OddConstructorError(Exception):
    def __init__(self, code, *, detail):
        super().__init__(f"{code}: {detail}")
        self.code = code


class SpeechlessError(Exception):
    def __str__(self):
        raise RuntimeError("cannot speak")


def caught(raise_it):
    try:
        raise_it()
    except BaseException as exc:
        return error_info(exc)
    raise AssertionError("nothing was raised")


def test_report_33_extra_constructor_arguments_do_no_harm():
    def body():
        raise OddConstructorError(7, detail="disk")

    info = caught(body)
    assert (info.type, info.message) == ("OddConstructorError", "7: disk")
    assert "in body" in info.traceback


def test_an_exception_that_cannot_be_pickled_is_only_text():
    error = ValueError("open file")
    error.handle = open("/dev/null")  # noqa: PTH123, SIM115
    with error.handle:

        def body():
            raise error

        assert caught(body).message == "open file"


def test_an_exception_whose_str_raises_is_said_to_do_so():
    def body():
        raise SpeechlessError

    info = caught(body)
    assert info.type == "SpeechlessError"
    assert "RuntimeError" in info.message


def test_a_huge_message_keeps_both_ends():
    def body():
        raise ValueError("a" * 50_000 + "END")

    message = caught(body).message
    assert len(message) < 20_000
    assert message.startswith("aaa")
    assert message.endswith("END")


def test_text_that_is_not_unicode_can_be_sent():
    def body():
        raise ValueError("bad \udcff byte")

    caught(body).message.encode()


def test_the_cause_is_in_the_traceback():
    def body():
        try:
            {}["k"]
        except KeyError as exc:
            raise ValueError("outer") from exc

    assert "KeyError" in caught(body).traceback


@pytest.mark.parametrize(
    ("status", "oom", "words"),
    [
        (-signal.SIGSEGV, False, "SIGSEGV"),
        (-signal.SIGKILL, True, "out-of-memory killer ended it"),
        (-signal.SIGKILL, False, "often the out-of-memory killer"),
        (3, False, "exited with status 3"),
        (-250, False, "signal 250"),
    ],
)
def test_report_7_a_dead_process_says_how_it_died(status, oom, words):
    info = crash_info(status, out_of_memory=oom)
    assert info.type == "WorkerCrash"
    assert words in info.message


def test_an_error_without_a_message_is_told_by_its_type_alone():
    assert (
        str(InvocationFailedError("i1", ErrorInfo("KeyboardInterrupt", "")))
        == "invocation i1 failed: KeyboardInterrupt"
    )
