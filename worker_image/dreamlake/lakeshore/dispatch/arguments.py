"""Checks of what callers pass to a plane's verbs: the same words on every plane."""

from __future__ import annotations

import math
from typing import get_args

from dreamlake.lakeshore.dispatch.names import check_key, check_queue, check_worker
from dreamlake.lakeshore.dispatch.plane import QUEUE_KINDS, STATES, QueueRecord, QueueState, RunConfig
from dreamlake.lakeshore.errors import ConfigError

_QUEUE_STATES: tuple[str, ...] = get_args(QueueState)


def check_config(config: RunConfig) -> None:
    """Check how an invocation is to be run. Raises ``ConfigError``."""
    if config.key is not None:
        check_key(config.key)
    for name, number in (
        ("priority", config.priority),
        ("delay_s", config.delay_s),
        ("timeout_s", config.timeout_s),
        ("deadline", config.deadline),
    ):
        if number is not None and not math.isfinite(number):
            raise ConfigError(f"{name} {number!r}: use a finite number")


def check_claim(queue: str, worker_id: str, kind: str, temperature: float, lease_s: float) -> None:
    """Check what is claimed, by whom, in which order and for how long. Raises ``ConfigError``."""
    check_queue(queue)
    check_worker(worker_id)
    check_order(kind, temperature)
    if not (math.isfinite(lease_s) and lease_s > 0):
        raise ConfigError(f"lease_s {lease_s!r}: use a finite number of seconds above 0")


def check_declaration(record: QueueRecord) -> None:
    """Check a queue that is to be declared. Raises ``ConfigError``."""
    check_queue(record.name)
    check_order(record.kind, record.temperature)


def check_order(kind: str, temperature: float) -> None:
    """Check an order of claims. Raises ``ConfigError``."""
    if kind not in QUEUE_KINDS:
        raise ConfigError(f"queue kind {kind!r}: use one of {', '.join(QUEUE_KINDS)}")
    if not (math.isfinite(temperature) and temperature > 0):
        raise ConfigError(f"temperature {temperature!r}: use a finite number above 0 (1.0 is usual)")


def check_state(state: str) -> None:
    """Check the state of an invocation. Raises ``ConfigError``."""
    if state not in STATES:
        raise ConfigError(f"state {state!r}: use one of {', '.join(STATES)}")


def check_queue_state(state: str) -> None:
    """Check a state of a queue's lifecycle. Raises ``ConfigError``."""
    if state not in _QUEUE_STATES:
        raise ConfigError(f"queue state {state!r}: use one of {', '.join(_QUEUE_STATES)}")
