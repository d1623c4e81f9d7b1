"""Progress of the watches: what counts as a sign of life, and what follows where there is none."""

import pytest

from coxswain.kernel.watching.event_bridge import Activity
from coxswain.kernel.watching.liveness import WatchLiveness
from coxswain.webapp.kinds import POD, SERVICE

PODS, SERVICES = (POD, None), (SERVICE, None)


class Clock:
    """Seconds that the test lets pass."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def progress(clock: Clock) -> WatchLiveness:
    """Two watches that have just been opened."""
    made = WatchLiveness([PODS, SERVICES], silence_timeout=180, inactivity_timeout=90, clock=clock)
    made.begin()
    for scope in (PODS, SERVICES):
        made.take(scope, Activity.LISTED)
        made.take(scope, Activity.OPENED)
    return made


@pytest.mark.parametrize("sign", [Activity.OPENED, Activity.HEARD, Activity.BOOKMARK, Activity.FAILED])
def test_one_that_shows_no_sign_is_silent_while_the_other_goes_on(
    progress: WatchLiveness, clock: Clock, sign: Activity
) -> None:
    for _ in range(4):
        clock.now += 60
        progress.take(SERVICES, sign)
    assert list(progress.silent()) == [PODS]
    assert progress.dead() == {}
    assert list(progress.to_restart()) == [PODS]


def test_it_is_dead_when_a_new_kopf_did_not_help(progress: WatchLiveness, clock: Clock) -> None:
    clock.now += 181
    assert len(progress.to_restart()) == 2
    assert progress.to_restart() == progress.dead() == {}
    progress.begin()
    progress.take(PODS, Activity.LISTED)  # the LIST is answered, the watch hangs
    progress.take(SERVICES, Activity.OPENED)
    clock.now += 179
    progress.take(SERVICES, Activity.HEARD)
    assert progress.dead() == {}
    clock.now += 2
    assert list(progress.dead()) == [PODS]
    assert progress.to_restart() == {}
    progress.take(PODS, Activity.OPENED)
    assert progress.silent() == progress.dead() == {}
    clock.now += 181
    assert PODS in progress.to_restart(), "it may be started anew for it again"


def test_a_kopf_that_does_not_end_is_dead(progress: WatchLiveness, clock: Clock) -> None:
    clock.now += 181
    progress.to_restart()
    clock.now += 181
    assert len(progress.dead()) == 2


def test_where_bookmarks_come_in_time_an_opening_after_silence_proves_nothing(
    progress: WatchLiveness, clock: Clock
) -> None:
    clock.now += 60
    progress.take(PODS, Activity.BOOKMARK)
    for _ in range(2):
        clock.now += 91
        progress.take(PODS, Activity.OPENED)
    assert PODS in progress.silent()


def test_where_no_bookmarks_come_an_opening_after_silence_is_all_there_is(
    progress: WatchLiveness, clock: Clock
) -> None:
    clock.now += 89
    progress.take(PODS, Activity.HEARD)
    clock.now += 40
    progress.take(PODS, Activity.BOOKMARK)  # 129 s after it was opened: too late to rely on
    for _ in range(5):
        clock.now += 91
        progress.take(PODS, Activity.OPENED)
        assert PODS not in progress.silent()


def test_after_an_outage_the_first_opening_has_the_bound_again(progress: WatchLiveness, clock: Clock) -> None:
    clock.now += 60
    progress.take(PODS, Activity.BOOKMARK)
    for _ in range(20):
        clock.now += 30
        progress.take(PODS, Activity.FAILED)
    progress.take(PODS, Activity.OPENED)
    clock.now += 60
    assert PODS not in progress.silent()
    progress.take(PODS, Activity.BOOKMARK)
    clock.now += 170
    assert PODS not in progress.silent()
