"""A field that is taken again and again is left alone for a while, each time for longer, and never for good."""

import pytest

from coxswain.kernel.objects.field_paths import Path
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.reconciling.write_wars import WriteWars
from coxswain.settings import ContestSettings

FIELD, OTHER = ("f:spec", "f:replicas"), ("f:spec", "f:paused")


def deployment(replicas: int = 1) -> Manifest:
    return {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": replicas}}


CHILD = deployment()


class Clock:
    """A clock of the test's."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """Write wars with a clock of the test's."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.wars = WriteWars(ContestSettings(rounds=3, window=600, rest=60, rest_limit=200))

    def take_back(self, times: int = 1, *, every: float = 1.0, field: Path = FIELD) -> None:
        for _ in range(times):
            self.clock.now += every
            self.wars.enforced(CHILD, [field], self.clock.now)

    @property
    def held_off(self) -> tuple[str, ...]:
        return self.resting(CHILD)

    def resting(self, manifest: Manifest) -> tuple[str, ...]:
        """Return the fields that are not enforced now, in a reconcile with this manifest."""
        self.wars.forget_settled(manifest)
        return self.wars.resting(manifest, self.clock.now)

    def ends(self, since: float | None = None) -> float | None:
        """Return the seconds until the next rest ends."""
        return self.wars.rest_ends(self.clock.now if since is None else since, self.clock.now)

    def rest(self) -> float | None:
        """Return for how long the field is left alone now, and wait for that long."""
        seconds = self.ends()
        self.clock.now += seconds or 0
        assert self.held_off == ()
        return seconds


@pytest.fixture
def bench() -> Bench:
    """No contest yet."""
    return Bench()


def test_until_the_last_round_it_is_taken_back_at_once(bench: Bench) -> None:
    for _ in range(2):
        bench.take_back()
        assert not bench.held_off
        assert bench.ends() is None
    bench.take_back()
    assert bench.held_off == ("spec.replicas",)
    assert bench.ends() == 60


def test_only_that_field(bench: Bench) -> None:
    bench.take_back(3)
    bench.take_back(2, field=OTHER)
    assert bench.held_off == ("spec.replicas",)


def test_when_its_time_is_up_it_is_taken_back_once_and_then_left_alone_for_longer(bench: Bench) -> None:
    bench.take_back(3)
    rests = []
    for _ in range(4):
        rests.append(bench.rest())
        bench.take_back()
        assert bench.held_off == ("spec.replicas",)
    assert rests == [60, 120, 200, 200]


def test_the_time_runs(bench: Bench) -> None:
    bench.take_back(3)
    bench.clock.now += 45
    assert bench.ends() == 15
    bench.clock.now += 15
    assert (bench.held_off, bench.ends()) == ((), None)


def test_what_is_taken_back_seldom_is_no_contest(bench: Bench) -> None:
    bench.take_back(20, every=601)
    assert not bench.held_off
    bench.take_back(2, every=600)
    assert bench.held_off == ("spec.replicas",)


def test_after_a_quiet_time_all_begins_anew(bench: Bench) -> None:
    bench.take_back(3)
    bench.clock.now += 60 + 601
    bench.take_back(2)
    assert bench.held_off == ()
    bench.take_back()
    assert bench.ends() == 60


def test_the_time_of_the_next_that_is_up(bench: Bench) -> None:
    bench.take_back(3)
    bench.clock.now += 20
    bench.take_back(3, field=OTHER)
    assert bench.ends() == 60 - 23


def test_a_resync_forgets_what_was_quiet_for_long_and_nothing_else(bench: Bench) -> None:
    bench.take_back(3)
    bench.clock.now += 60 + 599
    bench.wars.forget_quiet(bench.clock.now)
    bench.take_back()
    assert bench.ends() == 120, "it is remembered until window and rest are over"
    bench.clock.now += 120 + 601
    bench.wars.forget_quiet(bench.clock.now)
    assert len(bench.wars) == 0


def test_what_could_not_even_be_taken_back_so_often_in_a_row_is_a_contest_too(bench: Bench) -> None:
    for _ in range(2):
        bench.wars.refused(CHILD, [FIELD], bench.clock.now)
        assert not bench.held_off
    bench.wars.refused(CHILD, [FIELD], bench.clock.now)
    assert bench.held_off == ("spec.replicas",)
    assert bench.rest() == 60
    for _ in range(3):
        bench.wars.refused(CHILD, [FIELD], bench.clock.now)
    assert bench.ends() == 120


def test_a_refusal_among_successes_is_none(bench: Bench) -> None:
    for _ in range(2):
        bench.wars.refused(CHILD, [FIELD], bench.clock.now)
    bench.take_back()
    bench.wars.refused(CHILD, [FIELD], bench.clock.now)
    assert bench.held_off == ()


def test_another_desired_value_is_a_new_intent_and_not_held_off(bench: Bench) -> None:
    """K26: a person changes the very field that is contested."""
    bench.take_back(3)
    assert bench.held_off == ("spec.replicas",)
    assert bench.resting(deployment(2)) == ()
    assert not bench.held_off, "back at the first value it is a new intent too"


def test_a_new_intent_has_all_its_rounds(bench: Bench) -> None:
    bench.take_back(2)
    for replicas in (2, 3):
        for _ in range(2):
            bench.wars.enforced(deployment(replicas), [FIELD], bench.clock.now)
        assert bench.resting(deployment(replicas)) == ()
    bench.wars.enforced(deployment(3), [FIELD], bench.clock.now)
    assert bench.resting(deployment(3)) == ("spec.replicas",)


def test_a_rest_that_ends_during_a_reconcile_is_over_at_once(bench: Bench) -> None:
    """Left alone at its beginning, and ended before its end: nobody would come back before the next resync."""
    bench.take_back(3)
    begun = bench.clock.now
    assert bench.held_off
    bench.clock.now += 61
    assert bench.ends(begun) == 0
    assert bench.ends() is None, "the next reconcile has enforced it"
