"""The liveness of watches: recorded activities, and the reaction to silence."""

import pytest

from coxswain.kernel.watching.event_bridge import Activity
from coxswain.kernel.watching.liveness import WatchLiveness
from coxswain.webapp.kinds import POD, SERVICE

PODS, SERVICES = (POD, None), (SERVICE, None)


class Clock:
    """A clock in seconds, advanced by the test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def liveness(clock: Clock) -> WatchLiveness:
    """Return the liveness of two watches that were just opened."""
    made = WatchLiveness([PODS, SERVICES], silence_timeout=180, inactivity_timeout=90, clock=clock)
    made.begin()
    for scope in (PODS, SERVICES):
        made.record(scope, Activity.LISTED)
        made.record(scope, Activity.OPENED)
    return made


@pytest.mark.parametrize("activity", [Activity.OPENED, Activity.RECEIVED, Activity.BOOKMARK, Activity.FAILED])
def test_a_watch_without_activity_is_silent_while_another_is_active(
    liveness: WatchLiveness, clock: Clock, activity: Activity
) -> None:
    for _ in range(4):
        clock.now += 60
        liveness.record(SERVICES, activity)
    assert list(liveness.silent()) == [PODS]
    assert liveness.dead() == {}
    assert list(liveness.mark_restarts()) == [PODS]


def test_a_kind_without_a_watch_is_not_silent(liveness: WatchLiveness, clock: Clock) -> None:
    liveness.begin([POD])
    clock.now += 181
    assert list(liveness.silent()) == [PODS]


def test_a_watch_that_stays_silent_after_a_restart_of_kopf_is_dead(liveness: WatchLiveness, clock: Clock) -> None:
    clock.now += 181
    assert len(liveness.mark_restarts()) == 2
    assert liveness.mark_restarts() == liveness.dead() == {}
    liveness.begin()
    liveness.record(PODS, Activity.LISTED)  # the LIST is answered, but the watch hangs
    liveness.record(SERVICES, Activity.OPENED)
    clock.now += 179
    liveness.record(SERVICES, Activity.RECEIVED)
    assert liveness.dead() == {}
    clock.now += 2
    assert list(liveness.dead()) == [PODS]
    assert liveness.mark_restarts() == {}
    liveness.record(PODS, Activity.OPENED)
    assert liveness.silent() == liveness.dead() == {}
    clock.now += 181
    assert PODS in liveness.mark_restarts(), "Kopf may be restarted for this watch again"


def test_a_kopf_that_does_not_end_fails_liveness(liveness: WatchLiveness, clock: Clock) -> None:
    clock.now += 181
    liveness.mark_restarts()
    clock.now += 181
    assert len(liveness.dead()) == 2


def test_with_prompt_bookmarks_a_reopening_is_no_activity(liveness: WatchLiveness, clock: Clock) -> None:
    clock.now += 60
    liveness.record(PODS, Activity.BOOKMARK)
    for _ in range(2):
        clock.now += 91
        liveness.record(PODS, Activity.OPENED)
    assert PODS in liveness.silent()


def test_without_bookmarks_a_reopening_is_activity(liveness: WatchLiveness, clock: Clock) -> None:
    clock.now += 89
    liveness.record(PODS, Activity.RECEIVED)
    clock.now += 40
    liveness.record(PODS, Activity.BOOKMARK)  # 129 s after the opening: too late to rely on
    for _ in range(5):
        clock.now += 91
        liveness.record(PODS, Activity.OPENED)
        assert PODS not in liveness.silent()


def test_after_an_outage_the_first_opening_restarts_the_timeout(liveness: WatchLiveness, clock: Clock) -> None:
    clock.now += 60
    liveness.record(PODS, Activity.BOOKMARK)
    for _ in range(20):
        clock.now += 30
        liveness.record(PODS, Activity.FAILED)
    liveness.record(PODS, Activity.OPENED)
    clock.now += 60
    assert PODS not in liveness.silent()
    liveness.record(PODS, Activity.BOOKMARK)
    clock.now += 170
    assert PODS not in liveness.silent()
