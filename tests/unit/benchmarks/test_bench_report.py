"""The page that scripts/bench writes."""

import pytest
from yardstick.claiming import ClaimTimes
from yardstick.http_results import http_rows
from yardstick.machine import Machine, Moment, others_percent, this_machine
from yardstick.peers import added, reason, signal_text
from yardstick.plan import QUICK, WHOLE
from yardstick.processes import wait_for
from yardstick.report import peers_table, render, summary, table
from yardstick.results import Results, claim_rows, speed_rows
from yardstick.throughput import OwnFigures
from yardstick.verdicts import PeerFigures

_MACHINE = Machine("A Processor", 2, 23.4, "Linux x86_64", "CPython 3.11.7", "3.40.1", 0.25)


@pytest.fixture
def results() -> Results:
    found = Results(_MACHINE, "2026-01-02", WHOLE.settings())
    found.others_percent = 12.3
    found.own = OwnFigures([20_000.0, 30_000.0], [7000.0], [1.0, 1.2], [2.0])
    found.in_process = OwnFigures([25_000.0], [], [0.6], [1.0])
    found.peers = [
        PeerFigures("Quick", "1.0", [2000.0], [4000.0], [2.0], [3.0]),
        PeerFigures("Lost", absent="could not be installed: no wheel"),
    ]
    return found


def _line(page: str, begin: str) -> str:
    lines = [line for line in page.splitlines() if line.startswith(f"| {begin}")]
    assert len(lines) == 1, f"{len(lines)} lines begin with {begin!r}"
    return lines[0]


def test_the_page_names_the_machine_and_the_date(results: Results) -> None:
    page = render(results)
    for text in (
        "2026-01-02",
        "A Processor, 2 cores",
        "23 GiB",
        "CPython 3.11.7",
        "SQLite 3.40.1",
        "0.25",
        "12 % of the machine",
    ):
        assert text in page


def test_ratios_stand_beside_their_bars(results: Results) -> None:
    page = render(results)
    assert _line(page, "`map` over the best peer, one by one: Quick").endswith(
        "| >= 10 x | 12.5 (10.0 to 15.0) x | met |"
    )
    assert _line(page, "p50 over the best peer's: Quick").endswith(
        "| <= 0.5 x | 0.550 (0.500 to 0.600) x | **not met** |"
    )


def test_the_peers_batch_verbs_are_compared_too(results: Results) -> None:
    row = next(row for row in speed_rows(results) if "batch verbs" in row.measure)
    assert row.measured == "6.25 (5.00 to 7.50) x"


def test_a_peer_that_did_not_run_keeps_its_line_and_its_reason(results: Results) -> None:
    assert _line(render(results), "Lost") == (
        "| Lost |  | - | - | - | - | could not be installed: no wheel |"
    )


def test_a_run_without_peers_says_so(results: Results) -> None:
    assert "left out of this run" in peers_table([])
    results.peers = []
    assert "not measured: left out of this run" in _line(render(results), "p50 over the best peer's")


def test_a_measure_that_failed_is_told_and_not_met(results: Results) -> None:
    results.failed["idle"] = "RuntimeError: the worker did not answer"
    line = _line(render(results), "idle worker with its slot")
    assert line.endswith("| not measured: RuntimeError: the worker did not answer | not measured |")


def test_claims_are_judged_by_the_ratio_of_each_repeat(results: Results) -> None:
    results.claims = {"fifo": ClaimTimes([1.0] * 3, [2.0, 1.0, 4.0], [1.0] * 3, [2.0, 3.0, 4.0])}
    row = claim_rows(results)[-1]
    assert row.measured == "1.00 (1.00 to 3.00) x"
    assert row.verdict == "met"


def test_boltzmann_claims_are_shown_without_a_verdict(results: Results) -> None:
    results.claims = {"boltzmann": ClaimTimes([1.0], [1.0], [1.0], [90.0])}
    row = claim_rows(results)[-1]
    assert (row.measured, row.verdict) == ("90.0 x", "")


def test_the_summary_has_every_bar_and_nothing_else(results: Results) -> None:
    rows = summary(results)
    assert all(row.bar for row in rows)
    assert {row.verdict for row in rows} == {"met", "**not met**", "not measured"}


def test_the_page_tells_how_to_run_it_again_and_with_which_settings(results: Results) -> None:
    page = render(results)
    assert "scripts/bench --quick" in page
    assert "peer_jobs 2000" in page


def test_a_table_escapes_bars_in_cells() -> None:
    assert table(["a", "b"], [["x|y", "z"]]) == "| a | b |\n| --- | --- |\n| x\\|y | z |"


def test_a_reason_is_one_line_without_folders() -> None:
    text = "ERROR in /home/someone/.cache/venv/lib/thing.py:\n  refused http://127.0.0.1:1/a/b"
    assert reason(text) == "ERROR in thing.py: refused http://127.0.0.1:1/a/b"
    assert len(reason("x" * 1000)) == 240


def test_a_printed_repeat_is_added_to_the_earlier_ones() -> None:
    printed = 'noise\n{"version": "2.0", "loop_per_s": 10, "latencies_ms": [1.0, 2.0, 9.0]}\n'
    found = added(added(PeerFigures("Quick"), printed), printed.replace("10", "20"))
    assert found == PeerFigures("Quick", "2.0", [10.0, 20.0], [], [2.0, 2.0], [9.0, 9.0])


def test_a_peer_that_printed_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no figures"):
        added(PeerFigures("Quick"), "Traceback\n")


def test_the_end_of_a_process_is_told_in_words() -> None:
    assert (signal_text(-9), signal_text(3)) == ("ended by SIGKILL", "exit status 3")


def test_the_quick_run_measures_less_of_everything() -> None:
    quick, whole = QUICK.settings(), WHOLE.settings()
    assert all(quick[name] <= whole[name] for name in whole)
    assert quick["claims"] <= quick["few"] // 3


def test_this_machine_has_plausible_facts() -> None:
    found = this_machine()
    assert found.cpu
    assert found.cores >= 1
    assert 0.1 < found.memory_gib < 100_000
    assert found.python.split()[1].startswith("3.")


@pytest.mark.parametrize(("busy", "own", "wanted"), [(10.0, 4.0, 30.0), (4.0, 4.0, 0.0), (3.0, 4.0, 0.0)])
def test_other_processes_have_what_is_busy_and_not_ours(busy: float, own: float, wanted: float) -> None:
    since = Moment(100.0, 50.0, 5.0)
    until = Moment(110.0, 50.0 + busy, 5.0 + own)
    assert others_percent(since, until, cores=2) == pytest.approx(wanted)


def test_own_work_is_no_other_process() -> None:
    before = Moment.now()
    wait_for(lambda: sum(range(200_000)) and Moment.now().own_s > before.own_s + 0.3, "0.3 s of work", 30, 0)
    after = Moment.now()
    assert after.busy_s - before.busy_s >= 0.2


def test_the_control_plane_is_compared_with_the_faster_of_a_peers_verbs(results: Results) -> None:
    results.http.own = OwnFigures([8000.0], [900.0], [3.0], [5.0])
    results.http.crowd_mib = [120.0]
    results.skipped["http-replicas"] = "it takes 8 cores, and this machine has 2"
    page = render(results)
    assert _line(page, "HTTP: `map` over the best peer").endswith("Quick | >= 2 x | 2.00 x | met |")
    assert _line(page, "HTTP: p50 over the best peer's").endswith("| <= 1 x | 1.50 x | **not met** |")
    assert _line(page, "HTTP: replica with 10,000 idle long polls").endswith("| < 500 MiB | 120 MiB | met |")
    assert "this machine has 2 | not measured |" in _line(page, "HTTP: two replicas over one")


def test_depths_are_judged_by_the_ratio_of_each_repeat(results: Results) -> None:
    depth = results.http.depth
    depth.claim_few, depth.claim_many = [2.0, 2.0, 2.0], [3.0, 8.0, 2.0]
    row = next(row for row in http_rows(results) if "claim: p99, 1,000,000 rows over" in row.measure)
    assert (row.measured, row.verdict) == ("1.50 (1.00 to 4.00) x", "met")
