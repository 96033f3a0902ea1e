"""Named timers fire once, earliest first."""

import math

from dreamlake.lakeshore.worker.timers import Timers


def test_what_is_due_is_taken_in_order_of_time():
    timers = Timers()
    timers.set("late", 9.0)
    timers.set("b", 2.0)
    timers.set("a", 1.0)
    assert timers.due(5.0) == ["a", "b"]
    assert timers.due(5.0) == []
    assert timers.next_in(5.0) == 4.0


def test_setting_moves_a_timer_and_set_earlier_only_forward():
    timers = Timers()
    timers.set("x", 5.0)
    timers.set("x", 8.0)
    timers.set_earlier("x", 9.0)
    assert timers.next_in(0.0) == 8.0
    timers.set_earlier("x", 3.0)
    assert timers.next_in(0.0) == 3.0


def test_without_timers_there_is_no_next():
    assert Timers().next_in(0.0) == math.inf


def test_an_overdue_timer_is_due_now_not_in_the_past():
    timers = Timers()
    timers.set("x", 1.0)
    assert timers.next_in(7.0) == 0.0
