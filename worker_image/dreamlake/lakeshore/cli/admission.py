"""Which work a queue takes: the flags of ``lakeshore queues add`` that only a control plane acts on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dreamlake.lakeshore.cli.output import duration
from dreamlake.lakeshore.cli.spans import parse_span
from dreamlake.lakeshore.errors import ConfigError
from dreamlake.lakeshore.suggest import nearest

ON_FULL = ("reject", "block")


@dataclass(frozen=True, slots=True)
class AdmissionFlags:
    """The flags as given; None for those that were not. A limit of 0 takes the limit away."""

    max_depth: int | None = None
    on_full: str | None = None
    rate_limit: float | None = None
    burst: float | None = None
    deadline_cutoff: str | None = None
    retention: str | None = None

    @property
    def given(self) -> list[str]:
        """The names of the flags that were given."""
        fields = ("max_depth", "on_full", "rate_limit", "burst", "deadline_cutoff", "retention")
        return [f"--{name.replace('_', '-')}" for name in fields if getattr(self, name) is not None]

    def over(self, known: Mapping[str, Any]) -> dict[str, object]:
        """Give the fields to declare: what the queue has, with what was given in its place.

        Raises ``ConfigError`` naming the flag that cannot be.
        """
        fields: dict[str, object] = {}
        admission = dict(known.get("admission") or {})
        if self.max_depth is not None:
            admission["max_depth"] = self.max_depth or None
        if self.on_full is not None:
            if self.on_full not in ON_FULL:
                raise ConfigError(f"--on-full {self.on_full}{nearest(self.on_full, ON_FULL)}")
            admission["on_full"] = self.on_full
        if self.deadline_cutoff is not None:
            admission["deadline_cutoff_s"] = parse_span(self.deadline_cutoff, "--deadline-cutoff") or None
        if self.rate_limit is not None or self.burst is not None:
            admission["rate_limit"] = self._rate_limit(admission.get("rate_limit") or {})
        if self.given and self.given != ["--retention"]:
            fields["admission"] = {name: value for name, value in admission.items() if value is not None}
        if self.retention is not None:
            fields["retention_s"] = parse_span(self.retention, "--retention")
            if not fields["retention_s"]:
                raise ConfigError(f"--retention {self.retention}: give a span above 0")
        return fields

    def _rate_limit(self, known: Mapping[str, Any]) -> dict[str, float] | None:
        rate = known.get("rate") if self.rate_limit is None else self.rate_limit
        if rate is None:
            raise ConfigError("--burst goes with --rate-limit: give that too")
        if not 0 <= rate < float("inf"):
            raise ConfigError(f"--rate-limit {rate:g}: give a number above 0, or 0 for no limit")
        if not rate:
            return None
        burst = known.get("burst") if self.burst is None else self.burst
        if burst is None:
            return {"rate": rate}
        if not 1 <= burst < float("inf"):
            raise ConfigError(f"--burst {burst:g}: give a number of at least 1")
        return {"rate": rate, "burst": burst}


def in_words(queue: Mapping[str, Any]) -> str:
    """Say which work a queue takes, and how long it keeps what has ended."""
    admission = queue.get("admission") or {}
    parts: list[str] = []
    if depth := admission.get("max_depth"):
        what = "submitters wait" if admission.get("on_full") == "block" else "more is refused"
        parts.append(f"at most {depth} jobs waiting or running, then {what}")
    if limit := admission.get("rate_limit"):
        burst = f" (bursts of {limit['burst']:g})" if limit.get("burst") else ""
        parts.append(f"{limit['rate']:g} jobs a second{burst}")
    if cutoff := admission.get("deadline_cutoff_s"):
        parts.append(f"no deadline nearer than {duration(cutoff)}")
    return "; ".join(parts) or "any number of jobs"
