"""What one run does, in which order and how much of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from yardstick import claiming, footprint, simulating, streaming, throughput
from yardstick.figures import Spread, shown
from yardstick.http_plan import measure_http
from yardstick.installing import Installed, find_redis, install_peers
from yardstick.lake import http_lake, lake
from yardstick.peers import PEERS, Peer, measure_peer, reason, redis_server
from yardstick.results import Results
from yardstick.served import control_plane
from yardstick.verdicts import PeerFigures

PARTS = ("map", "idle", "memory", "import", "claim", "stream", "simulate", "http")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured. ``peer_jobs`` and ``calls`` hold for Lakeshore's one-by-one figures too."""

    rounds: int = 3
    jobs: int = 10_000
    peer_jobs: int = 2000
    calls: int = 300
    idle_s: float = 20.0
    few: int = 1000
    many: int = 1_000_000
    claims: int = 300
    frames: int = 100_000
    import_repeats: int = 15
    simulated: int = 1_000_000
    simulations: int = 3
    polls: int = 10_000
    http_many: int = 1_000_000
    scaling_s: float = 10.0

    def settings(self) -> dict[str, int | float]:
        """Give all numbers by name."""
        return asdict(self)


WHOLE = Plan()
QUICK = Plan(
    rounds=1,
    jobs=2000,
    peer_jobs=300,
    calls=50,
    idle_s=5.0,
    many=50_000,
    claims=100,
    frames=20_000,
    import_repeats=5,
    simulated=50_000,
    simulations=1,
    polls=500,
    http_many=10_000,
    scaling_s=3.0,
)

Say = Callable[[str], None]


def run(plan: Plan, parts: Sequence[str], results: Results, say: Say, *, peers: bool) -> None:
    """Fill ``results``. A part that fails is noted there, and the others go on."""
    steps: dict[str, Callable[[], None]] = {
        "import": lambda: results.import_ms.extend(footprint.import_ms(plan.import_repeats)),
        "memory": lambda: _memory(plan, results),
        "idle": lambda: _idle(plan, results),
        "stream": lambda: _stream(plan, results),
        "claim": lambda: _claim(plan, results),
        "simulate": lambda: _simulate(plan, results),
        "http": lambda: measure_http(plan, results, say),
        "map": lambda: _rounds(plan, results, say, peers=peers),
    }
    for part, step in steps.items():
        if part not in parts:
            continue
        say(f"measuring: {part}")
        try:
            step()
        except Exception as exc:  # the report tells it
            results.failed[part] = reason(f"{type(exc).__name__}: {exc}")
            say(f"{part} failed: {results.failed[part]}")


def _idle(plan: Plan, results: Results) -> None:
    results.idle_percent.append(footprint.idle_percent(plan.idle_s))


def _memory(plan: Plan, results: Results) -> None:
    for _ in range(plan.rounds):
        parent, slots = footprint.worker_mib(1000)
        results.parent_mib.append(parent)
        results.slot_mib.extend(slots)


def _stream(plan: Plan, results: Results) -> None:
    results.stream = streaming.stream_figures(
        lake(), frames=plan.frames, repeats=max(plan.rounds, 3), firsts=50
    )


def _claim(plan: Plan, results: Results) -> None:
    results.claims = claiming.claim_times(plan.few, plan.many, repeats=plan.rounds + 2, claims=plan.claims)


def _simulate(plan: Plan, results: Results) -> None:
    for _ in range(plan.simulations):
        results.simulation_s.append(simulating.simulation_s(plan.simulated))


def _rounds(plan: Plan, results: Results, say: Say, *, peers: bool) -> None:
    """Measure in turn, round by round: ours, every peer, ours again."""
    results.peers = [PeerFigures(peer.name) for peer in PEERS] if peers else []
    with contextlib.ExitStack() as stack:
        installed, port = _prepare(results, say, stack) if peers else (None, None)
        for number in range(1, plan.rounds + 1):
            _ours(plan, results, say, f"round {number} of {plan.rounds}")
            for place, peer in enumerate(PEERS if installed else ()):
                if results.peers[place].absent or installed is None:
                    continue
                found = measure_peer(
                    peer,
                    results.peers[place],
                    python=installed.python,
                    redis_port=port,
                    jobs=plan.peer_jobs,
                    calls=plan.calls,
                )
                results.peers[place] = found
                say(f"round {number} of {plan.rounds}: {peer.name}: {_said(found)}")
            _ours(plan, results, say, f"round {number} of {plan.rounds}, after the peers")


def _prepare(results: Results, say: Say, stack: contextlib.ExitStack) -> tuple[Installed | None, int | None]:
    try:
        installed = install_peers(say)
    except (OSError, RuntimeError) as exc:
        results.peers = [PeerFigures(peer.name, absent=reason(str(exc))) for peer in PEERS]
        return None, None
    for place, peer in enumerate(PEERS):
        if why := _missing(peer, installed):
            results.peers[place] = PeerFigures(peer.name, absent=reason(why))
    return installed, _redis(say, stack)


def _redis(say: Say, stack: contextlib.ExitStack) -> int | None:
    program = find_redis(say)
    if program is None:
        return None
    try:
        return stack.enter_context(redis_server(program))
    except (OSError, TimeoutError) as exc:
        say(f"{Path(program).name} did not start: {exc}")
        return None


def _missing(peer: Peer, installed: Installed) -> str:
    return "; ".join(installed.missing[each] for each in peer.distributions if each in installed.missing)


def _ours(plan: Plan, results: Results, say: Say, when: str) -> None:
    amount = {"jobs": plan.jobs, "calls": plan.calls}
    throughput.measure_round(results.own, lake(), loop_jobs=plan.peer_jobs, **amount)
    throughput.measure_round(results.in_process, lake("--in-process"), loop_jobs=0, **amount)
    say(f"{when}: Lakeshore: {results.own.map_per_s[-1]:,.0f} jobs/s, p50 {results.own.p50_ms[-1]:.2f} ms")
    if "http-map" in results.failed:
        return
    try:
        with control_plane(find_redis(say)) as served:
            throughput.measure_round(
                results.http.own, http_lake(served.url), loop_jobs=plan.peer_jobs, **amount
            )
    except Exception as exc:  # the report tells it
        results.failed["http-map"] = reason(f"{type(exc).__name__}: {exc}")
        say(f"over HTTP: {results.failed['http-map']}")
        return
    own = results.http.own
    say(f"{when}: over HTTP: {own.map_per_s[-1]:,.0f} jobs/s, p50 {own.p50_ms[-1]:.2f} ms")


def _said(peer: PeerFigures) -> str:
    if peer.absent:
        return peer.absent
    return f"{shown(Spread.of(peer.loop_per_s[-1:]))} jobs/s, p50 {peer.p50_ms[-1]:.2f} ms"
