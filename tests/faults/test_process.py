"""The operator's process: its probes with a frozen watch or a failing LIST, and its shutdown."""

import time
from collections.abc import Callable

import pytest

from coxswain.settings import WatchSettings
from fault_engine.plan import Answer, Delay, Match, Plan, Rule
from fault_engine.run import Case
from fault_engine.scale import Scale
from fault_engine.script import Life
from fault_engine.stand import Stand

pytestmark = pytest.mark.generic

FOR_EVER_SECONDS = 3600.0
PATIENCE_SECONDS = 60.0
END_SECONDS = 10.0
UNSCALED = Scale(1.0)
"""The operator's own timeouts. A request has 30 s, so a hanging one must be cut."""


def wait(check: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS) -> float:
    """Wait until a check holds; return the delay.

    Raises:
        AssertionError: the check does not hold within `seconds`.
    """
    begun = time.monotonic()
    while not check():
        assert time.monotonic() - begun < seconds, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.2)
    return time.monotonic() - begun


def followed(stand: Stand, life: Life) -> bool:
    """Tell whether the main child of `web` follows the parent that a step applies."""
    return stand.workload.follows_life(life, stand.end()[stand.workload.main.plural]) is None


@pytest.mark.ci
@pytest.mark.fault(
    "F7",
    "one watch frozen forever: the liveness probe names it",
    oracles=("O4",),
    broken="liveness-sees-no-watch",
    by="test",
)
def test_liveness_means_that_every_watch_progresses(case: Case) -> None:
    bound = case.scale.seconds(WatchSettings().silence_timeout, 12)
    with case.stand() as stand:
        stand.operator.start()
        stand.live(Life("create"))
        wait(lambda: followed(stand, Life("create")), "the main child")
        # Only one of the watches: the open one is reset, and its successors never get a response.
        stand.inject(Plan((Rule(Match("watch", "{child}", count=None), Delay(FOR_EVER_SECONDS)),)))
        stand.proxy.cut(stand.workload.child.plural)
        took = wait(
            lambda: stand.operator.probe("/healthz")[0] == 503, "liveness fails", seconds=2 * bound + PATIENCE_SECONDS
        )
        print(f"the liveness probe failed after {took:.1f} s; its limit of silence is {bound:.0f} s")
        assert stand.workload.child.plural in stand.operator.probe("/healthz")[1]
        assert stand.operator.probe("/readyz")[0] == 503
        stand.live(Life("change"))
        wait(lambda: followed(stand, Life("change")), "the other watches continue")
        stand.lift()
        case.measured.recoveries.append(
            wait(lambda: {stand.operator.probe(path)[0] for path in ("/healthz", "/readyz")} == {200}, "recovery")
        )


@pytest.mark.quick
@pytest.mark.fault(
    "F8",
    "the LIST of one kind fails: not ready, but alive",
    oracles=("O4",),
    broken="ready-before-all-is-listed",
    by="test",
)
def test_readiness_means_that_every_kind_is_synced(case: Case) -> None:
    with case.stand() as stand:
        stand.inject(Plan((Rule(Match("list", "{main}", count=None), Answer(503)),)))
        stand.operator.start(wait=False)
        wait(lambda: case.workload.main.plural in stand.operator.probe("/readyz")[1], "readiness names the kind")
        wait(lambda: stand.operator.probe("/readyz")[1].count("\n") <= 2, "all others are listed")
        assert stand.operator.probe("/readyz")[0] == 503
        assert stand.operator.probe("/healthz")[0] == 200
        stand.lift()
        case.measured.recoveries.append(wait(lambda: stand.operator.probe("/readyz")[0] == 200, "ready"))


@pytest.mark.ci
@pytest.mark.fault(
    "F1",
    "SIGTERM during a write: the write is finished",
    oracles=("O1",),
    broken="cancels-in-flight-reconciles",
    by="test",
)
def test_sigterm_finishes_the_write_in_flight(case: Case) -> None:
    with case.stand() as stand:
        stand.operator.start()
        stand.inject(Plan((Rule(Match("patch", "{child}"), Delay(1.5)),)))
        stand.live(Life("create"))
        wait(lambda: any(each.fault for each in stand.proxy.snapshot().requests), "the slow write")
        begun = time.monotonic()
        assert stand.operator.stop() == 0
        took = time.monotonic() - begun
        print(f"exited after {took:.1f} s")
        assert took < END_SECONDS
        slow = next(each for each in stand.proxy.snapshot().requests if each.fault)
        assert slow.status == 201, f"the in-flight write got {slow.status}"
        unanswered = [each for each in stand.proxy.snapshot().writes() if not each.delivered]
        assert not unanswered, f"without a response: {unanswered}"


@pytest.mark.ci
@pytest.mark.fault(
    "F1",
    "SIGTERM while the API server does not respond: the process exits within 10 s",
    oracles=("O1",),
    broken="never-exits",
    by="test",
)
def test_sigterm_ends_within_ten_seconds_whatever_hangs(case: Case) -> None:
    with case.stand(UNSCALED) as stand:
        stand.operator.start()
        stand.inject(Plan((Rule(Match(verb="?*", resource="?*", count=None), Delay(FOR_EVER_SECONDS)),)))
        stand.live(Life("create"))
        wait(lambda: bool(stand.proxy.snapshot().writes()), "a write that hangs")
        stand.proxy.cut()
        begun = time.monotonic()
        assert stand.operator.stop() == 0, "it did not exit by itself"
        took = time.monotonic() - begun
        print(f"exited after {took:.1f} s")
        assert took < END_SECONDS
