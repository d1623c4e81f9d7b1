"""The operator's process: what its probes say while a watch is frozen or a kind can't be listed, and how it ends."""

import time
from collections.abc import Callable

import pytest

from coxswain.settings import WatchSettings
from faults.lives import SPEC, webapp
from faults.plan import Answer, Delay, Match, Plan, Rule
from faults.run import Case
from faults.scale import Scale
from faults.stand import Stand

FOR_EVER_SECONDS = 3600.0
PATIENCE_SECONDS = 60.0
END_SECONDS = 10.0
UNSCALED = Scale(1.0)
"""The operator's own timeouts: a request has 30 s, so what hangs must be cut."""


def wait(check: Callable[[], bool], what: str, seconds: float = PATIENCE_SECONDS) -> float:
    """Wait until a check holds; return how long it took.

    Raises:
        AssertionError: it didn't in time.
    """
    begun = time.monotonic()
    while not check():
        assert time.monotonic() - begun < seconds, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.2)
    return time.monotonic() - begun


def followed(stand: Stand, image: str) -> bool:
    """Tell whether the Deployment of `web` has an image."""
    found = [item for item in stand.end()["deployments"] if item["metadata"]["name"] == "web"]
    return [item["spec"]["template"]["spec"]["containers"][0]["image"] for item in found] == [image]


@pytest.mark.ci
@pytest.mark.fault(
    "F7", "one watch frozen for good: liveness says which", oracles=("O4",), broken="liveness-sees-no-watch", by="test"
)
def test_liveness_means_that_every_watch_progresses(case: Case) -> None:
    bound = case.scale.seconds(WatchSettings().silence_timeout, 12)
    with case.stand() as stand:
        stand.operator.start()
        stand.kubectl("apply", "-f", "-", object=webapp(SPEC))
        wait(lambda: followed(stand, SPEC["image"]), "the Deployment")
        # ONE of the watches: what is open is cut, and what is opened anew is never answered.
        stand.inject(Plan((Rule(Match("watch", "services", count=None), Delay(FOR_EVER_SECONDS)),)))
        stand.proxy.cut("services")
        took = wait(
            lambda: stand.operator.probe("/healthz")[0] == 503, "liveness fails", seconds=2 * bound + PATIENCE_SECONDS
        )
        print(f"liveness failed after {took:.1f} s; the bound of silence is {bound:.0f} s")
        assert "services" in stand.operator.probe("/healthz")[1]
        assert stand.operator.probe("/readyz")[0] == 503
        changed = {**SPEC, "image": "registry.example/web:2"}
        stand.kubectl("apply", "-f", "-", object=webapp(changed))
        wait(lambda: followed(stand, changed["image"]), "the other watches go on")
        stand.lift()
        case.measured.recoveries.append(
            wait(lambda: {stand.operator.probe(path)[0] for path in ("/healthz", "/readyz")} == {200}, "recovery")
        )


@pytest.mark.quick
@pytest.mark.fault(
    "F8",
    "one kind can't be listed: not ready, but live",
    oracles=("O4",),
    broken="ready-before-all-is-listed",
    by="test",
)
def test_readiness_means_that_every_kind_is_synced(case: Case) -> None:
    with case.stand() as stand:
        stand.inject(Plan((Rule(Match("list", "pods", count=None), Answer(503)),)))
        stand.operator.start(wait=False)
        wait(lambda: "pods" in stand.operator.probe("/readyz")[1], "readiness names the kind")
        wait(lambda: stand.operator.probe("/readyz")[1].count("\n") <= 2, "all others are listed")
        assert stand.operator.probe("/readyz")[0] == 503
        assert stand.operator.probe("/healthz")[0] == 200
        stand.lift()
        case.measured.recoveries.append(wait(lambda: stand.operator.probe("/readyz")[0] == 200, "ready"))


@pytest.mark.ci
@pytest.mark.fault(
    "F1",
    "SIGTERM while a write is under way: it is finished",
    oracles=("O1",),
    broken="drops-what-is-in-hand",
    by="test",
)
def test_sigterm_finishes_the_write_in_flight(case: Case) -> None:
    with case.stand() as stand:
        stand.operator.start()
        stand.inject(Plan((Rule(Match("patch", "services"), Delay(1.5)),)))
        stand.kubectl("apply", "-f", "-", object=webapp(SPEC))
        wait(lambda: any(each.fault for each in stand.proxy.snapshot().requests), "the slow write")
        begun = time.monotonic()
        assert stand.operator.stop() == 0
        took = time.monotonic() - begun
        print(f"ended after {took:.1f} s")
        assert took < END_SECONDS
        slow = next(each for each in stand.proxy.snapshot().requests if each.fault)
        assert slow.status == 201, f"the write in flight was answered with {slow.status}"
        unanswered = [each for each in stand.proxy.snapshot().writes() if not each.delivered]
        assert not unanswered, f"cut off: {unanswered}"


@pytest.mark.ci
@pytest.mark.fault(
    "F1",
    "SIGTERM while the API server doesn't answer: the end comes within 10 s",
    oracles=("O1",),
    broken="never-ends",
    by="test",
)
def test_sigterm_ends_within_ten_seconds_whatever_hangs(case: Case) -> None:
    with case.stand(UNSCALED) as stand:
        stand.operator.start()
        stand.inject(Plan((Rule(Match(verb="?*", resource="?*", count=None), Delay(FOR_EVER_SECONDS)),)))
        stand.kubectl("apply", "-f", "-", object=webapp(SPEC))
        wait(lambda: bool(stand.proxy.snapshot().writes()), "a write that hangs")
        stand.proxy.cut()
        begun = time.monotonic()
        assert stand.operator.stop() == 0, "it had to be killed"
        took = time.monotonic() - begun
        print(f"ended after {took:.1f} s")
        assert took < END_SECONDS
