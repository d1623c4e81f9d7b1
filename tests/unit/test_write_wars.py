"""In a write war the enforcement of a field is suspended, each time for longer, but never for good."""

import pytest

from coxswain.kernel.objects.field_paths import Path
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.reconciling.memory.write_wars import WriteWars
from coxswain.settings import WriteWarSettings

FIELD, OTHER = ("f:spec", "f:replicas"), ("f:spec", "f:paused")


def deployment(replicas: int = 1) -> Manifest:
    return {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": replicas}}


CHILD = deployment()


class Clock:
    """A clock set by the test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """Write wars with a clock set by the test."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.wars = WriteWars(WriteWarSettings(rounds=3, window=600, suspension=60, suspension_limit=200))

    def take_back(self, times: int = 1, *, every: float = 1.0, field: Path = FIELD) -> None:
        for _ in range(times):
            self.clock.now += every
            self.wars.enforced(CHILD, [field], self.clock.now)

    @property
    def held_off(self) -> tuple[str, ...]:
        return self.suspended(CHILD)

    def suspended(self, manifest: Manifest) -> tuple[str, ...]:
        """Return the fields that are not enforced now, in a reconcile with this manifest."""
        self.wars.forget_settled(manifest)
        return self.wars.suspended(manifest, self.clock.now)

    def ends(self, since: float | None = None) -> float | None:
        """Return the seconds until the next suspension ends."""
        return self.wars.suspension_ends(self.clock.now if since is None else since, self.clock.now)

    def suspension(self) -> float | None:
        """Return the length of the current suspension, and wait until it ends."""
        seconds = self.ends()
        self.clock.now += seconds or 0
        assert self.held_off == ()
        return seconds


@pytest.fixture
def bench() -> Bench:
    """Return a bench without a write war."""
    return Bench()


def test_a_field_is_enforced_at_once_until_the_last_round(bench: Bench) -> None:
    for _ in range(2):
        bench.take_back()
        assert not bench.held_off
        assert bench.ends() is None
    bench.take_back()
    assert bench.held_off == ("spec.replicas",)
    assert bench.ends() == 60


def test_only_the_contested_field_is_suspended(bench: Bench) -> None:
    bench.take_back(3)
    bench.take_back(2, field=OTHER)
    assert bench.held_off == ("spec.replicas",)


def test_after_the_suspension_the_field_is_enforced_once_and_the_next_suspension_is_longer(bench: Bench) -> None:
    bench.take_back(3)
    suspensions = []
    for _ in range(4):
        suspensions.append(bench.suspension())
        bench.take_back()
        assert bench.held_off == ("spec.replicas",)
    assert suspensions == [60, 120, 200, 200]


def test_the_remaining_suspension_decreases(bench: Bench) -> None:
    bench.take_back(3)
    bench.clock.now += 45
    assert bench.ends() == 15
    bench.clock.now += 15
    assert (bench.held_off, bench.ends()) == ((), None)


def test_rare_corrections_are_no_write_war(bench: Bench) -> None:
    bench.take_back(20, every=601)
    assert not bench.held_off
    bench.take_back(2, every=600)
    assert bench.held_off == ("spec.replicas",)


def test_after_a_quiet_period_the_count_starts_again(bench: Bench) -> None:
    bench.take_back(3)
    bench.clock.now += 60 + 601
    bench.take_back(2)
    assert bench.held_off == ()
    bench.take_back()
    assert bench.ends() == 60


def test_the_earliest_end_of_a_suspension(bench: Bench) -> None:
    bench.take_back(3)
    bench.clock.now += 20
    bench.take_back(3, field=OTHER)
    assert bench.ends() == 60 - 23


def test_a_resync_forgets_only_fields_that_were_quiet_for_long(bench: Bench) -> None:
    bench.take_back(3)
    bench.clock.now += 60 + 599
    bench.wars.forget_quiet(bench.clock.now)
    bench.take_back()
    assert bench.ends() == 120, "the write war is remembered until the window and the suspension are over"
    bench.clock.now += 120 + 601
    bench.wars.forget_quiet(bench.clock.now)
    assert len(bench.wars) == 0


def test_repeated_refusals_of_the_correction_are_a_write_war_too(bench: Bench) -> None:
    for _ in range(2):
        bench.wars.refused(CHILD, [FIELD], bench.clock.now)
        assert not bench.held_off
    bench.wars.refused(CHILD, [FIELD], bench.clock.now)
    assert bench.held_off == ("spec.replicas",)
    assert bench.suspension() == 60
    for _ in range(3):
        bench.wars.refused(CHILD, [FIELD], bench.clock.now)
    assert bench.ends() == 120


def test_a_refusal_among_successes_is_no_write_war(bench: Bench) -> None:
    for _ in range(2):
        bench.wars.refused(CHILD, [FIELD], bench.clock.now)
    bench.take_back()
    bench.wars.refused(CHILD, [FIELD], bench.clock.now)
    assert bench.held_off == ()


def test_another_desired_value_is_a_new_intent_and_applied_at_once(bench: Bench) -> None:
    """K26: a person changes the very field of the write war."""
    bench.take_back(3)
    assert bench.held_off == ("spec.replicas",)
    assert bench.suspended(deployment(2)) == ()
    assert not bench.held_off, "a return to the first value is a new intent too"


def test_only_the_value_of_the_write_war_is_suspended(bench: Bench) -> None:
    """An autoscaler changes the manifest after the wars over former values are forgotten."""
    bench.take_back(3)
    assert bench.wars.suspended(deployment(2), bench.clock.now) == ()
    assert bench.wars.suspended(CHILD, bench.clock.now) == ("spec.replicas",), "the question changed something"


def test_a_new_intent_gets_the_full_number_of_rounds(bench: Bench) -> None:
    bench.take_back(2)
    for replicas in (2, 3):
        for _ in range(2):
            bench.wars.enforced(deployment(replicas), [FIELD], bench.clock.now)
        assert bench.suspended(deployment(replicas)) == ()
    bench.wars.enforced(deployment(3), [FIELD], bench.clock.now)
    assert bench.suspended(deployment(3)) == ("spec.replicas",)


def test_a_suspension_that_ends_during_a_reconcile_is_over_at_once(bench: Bench) -> None:
    """The suspension ends during the reconcile. Without a requeue nothing would retry before the next resync."""
    bench.take_back(3)
    begun = bench.clock.now
    assert bench.held_off
    bench.clock.now += 61
    assert bench.ends(begun) == 0
    assert bench.ends() is None, "the next reconcile has enforced the field"
