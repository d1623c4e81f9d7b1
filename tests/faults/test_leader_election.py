"""F18: two replicas, one edit of a WebApp per second, and a leader that ends, stops or hangs."""

import time
from pathlib import Path
from signal import Signals

import pytest
import yaml

from fault_engine.plan import Delay, Match, Plan, Rule
from fault_engine.run import Case
from fault_engine.scale import Scale
from fault_engine.script import Life
from faults.replicas import ELECTED, SETTLED_SECONDS, Pair, await_true, election_settings
from faults.takeover import USUAL, expiry, survive

DEPLOYMENT = Path(__file__).parents[2] / "manifests/base/deployment.yaml"
ORACLES = ("O1", "O2", "O3", "O6")
SOON_SECONDS = 3.0
"""Until the next edit is applied after a SIGTERM, or if the leader stays."""
END_SECONDS = 10.0
UNSCALED = Scale(1.0)
"""The operator's own timeouts."""
FOR_EVER_SECONDS = 3600.0


def paused(case: Case) -> float:
    """Return the duration of a SIGSTOP, 60 s unscaled: four durations of the Lease."""
    seconds = 4 * election_settings(case.scale).lease_duration
    case.measured.waits.append((60.0, seconds))
    return seconds


@pytest.mark.ci
@pytest.mark.fault("F18", "SIGTERM of the leader of two", oracles=ORACLES, broken="forgets-the-release", by="test")
@pytest.mark.parametrize("slow", [pytest.param(0.0, id="at rest"), pytest.param(2.0, id="with a write in flight")])
def test_sigterm(case: Case, slow: float) -> None:
    def fault(pair: Pair) -> None:
        if slow:
            pair.stand.inject(Plan((Rule(Match(verb="patch", resource="services", count=None), Delay(slow)),)))
            await_true(lambda: not pair.stand.not_met(), "a slow write in flight", SETTLED_SECONDS)
            pair.begin_fault()
        assert pair.leader.process.stop() == 0

    figures = survive(case, f"SIGTERM, writes delayed by {slow} s", fault)
    # The drain ends with the write.
    assert figures.next_edit < SOON_SECONDS + slow
    assert figures.takeover is not None


@pytest.mark.fault(
    "F18",
    "SIGTERM of the leader while the API server does not respond: the process exits within 10 s",
    oracles=("O1",),
    broken="waits-for-the-release",
    by="test",
)
def test_sigterm_with_everything_hung(case: Case) -> None:
    with case.stand(UNSCALED, options=ELECTED) as stand:
        process = stand.operator
        process.start()
        await_true(lambda: "this process leads" in process.logged(), "leadership", SETTLED_SECONDS)
        stand.inject(Plan((Rule(Match("patch", "{child}", count=None), Delay(FOR_EVER_SECONDS)),)))
        stand.live(Life("create"))
        await_true(lambda: any(each.fault for each in stand.proxy.snapshot().requests), "a hung write", SETTLED_SECONDS)
        # The Lease must be recent: its loss would end the election before the release.
        stand.inject(Plan((Rule(Match(verb="?*", resource="?*", count=None), Delay(FOR_EVER_SECONDS)),)))
        begun = time.monotonic()
        assert process.stop() == 0, "it did not exit by itself"
        took = time.monotonic() - begun
        print(f"exited after {took:.1f} s")
        assert took < END_SECONDS


@pytest.mark.fault(
    "F18", "SIGKILL of the leader of two", oracles=ORACLES, broken="takes-over-without-enqueueing", by="O1"
)
def test_sigkill(case: Case) -> None:
    def fault(pair: Pair) -> None:
        pair.leader.process.stop(Signals.SIGKILL)

    figures = survive(case, "SIGKILL", fault)
    settings = election_settings(case.scale)
    assert figures.takeover is not None
    assert figures.takeover >= settings.lease_duration - settings.retry_period, "before the expiry"
    assert figures.next_edit < expiry(settings)


@pytest.mark.ci
@pytest.mark.fault(
    "F18",
    "the leader of two stopped by SIGSTOP for a minute, then SIGCONT",
    oracles=ORACLES,
    broken="leads-for-ever",
    by="O6",
)
def test_sigstop(case: Case) -> None:
    def fault(pair: Pair) -> None:
        pair.leader.process.send(Signals.SIGSTOP)
        time.sleep(paused(case))
        pair.leader.process.send(Signals.SIGCONT)

    figures = survive(case, "SIGSTOP", fault, after=5.0)
    assert figures.takeover is not None
    assert figures.next_edit < expiry(election_settings(case.scale))
    assert figures.restarts == 1, "the old leader did not end"


@pytest.mark.fault(
    "F18",
    "the leader's main loop is blocked for 20 s: the leader stays",
    oracles=ORACLES,
    broken="renews-in-the-main-loop",
    by="test",
)
def test_main_loop_blocked(case: Case) -> None:
    settings = election_settings(case.scale)
    # The load of the machine does not shrink with the scale.
    seconds = settings.lease_duration * 4 / 3 + 2 * (1 - settings.lease_duration / USUAL.lease_duration)
    case.measured.waits.append((20.0, seconds))

    def fault(pair: Pair) -> None:
        pair.leader.process.send(Signals.SIGUSR1)
        pair.go_on(seconds)

    figures = survive(case, "main loop blocked", fault, after=5.0, options=(("--block", str(seconds)), ()))
    assert figures.takeover is None, "the standby took the Lease"
    assert seconds - 1.0 < figures.slowest < seconds + SOON_SECONDS, "the main loop was not blocked, or stayed so"
    assert figures.restarts == 0


@pytest.mark.fault(
    "F18",
    "the leader's main loop hangs for good: the liveness probe fails, and the kubelet kills the process",
    oracles=ORACLES,
    broken="renews-in-the-main-loop",
    by="test",
)
def test_main_loop_hangs(case: Case) -> None:
    killed: list[float] = []

    def fault(pair: Pair) -> None:
        pair.leader.process.send(Signals.SIGUSR1)
        fail_the_liveness_probe(pair, case)
        assert pair.editor.fault_at is not None
        killed.append(time.monotonic() - pair.editor.fault_at)

    figures = survive(case, "main loop hangs", fault, after=5.0, options=(("--block", str(FOR_EVER_SECONDS)), ()))
    settings = election_settings(case.scale)
    assert figures.takeover is not None
    waited = figures.takeover - killed[0]
    assert waited >= settings.lease_duration - settings.retry_period, "the renewals ended before the process"
    assert figures.next_edit - killed[0] < expiry(settings)
    assert figures.restarts == 1


def fail_the_liveness_probe(pair: Pair, case: Case) -> None:
    """Probe the leader and kill it, as the kubelet does by manifests/base/deployment.yaml."""
    pod = yaml.safe_load(DEPLOYMENT.read_text(encoding="utf-8"))["spec"]["template"]["spec"]
    probe, process = pod["containers"][0]["livenessProbe"], pair.leader.process
    begun, period = time.monotonic(), case.scale.seconds(probe["periodSeconds"])
    for number in range(1, 1 + probe.get("failureThreshold", 3)):
        pair.go_on(begun + number * period - time.monotonic())
        status, text = process.probe(
            probe["httpGet"]["path"], timeout_seconds=case.scale.seconds(probe["timeoutSeconds"])
        )
        assert status != 200, f"a hung main loop is reported as healthy: {text}"
    process.send(Signals.SIGTERM)
    pair.go_on(case.scale.seconds(pod["terminationGracePeriodSeconds"]))
    assert process.running, "it ended by itself, so its main loop did not hang"
    process.stop(Signals.SIGKILL)
