"""spec.restartOn: the slots of restarts, and the message about them."""

from collections import Counter
from dataclasses import replace

import pytest

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.status.health import Health, Level
from coxswain.kernel.workload import Reference
from coxswain.webapp.children.deployment import deployment
from coxswain.webapp.kinds import DEPLOYMENT, REFERENCED_CONFIG_MAP
from coxswain.webapp.restarts import Restart, explained, restart_of, slot
from rendered import observe
from unit.objects import stored
from unit.test_restart_on import DB, THEN, World, app, at, entry, referenced, started

UIDS = [f"6f1c7b5e-{number:04}" for number in range(200)]


def test_the_restarts_of_200_webapps_are_spread() -> None:
    """A window of 600 s: nowhere more than a fifth above the pace of one in three seconds, and none outside."""
    times = sorted(slot(uid, THEN, len(UIDS)) for uid in UIDS)
    assert times[0] >= at(2)
    assert times[-1] <= at(2 + 600)
    minutes = Counter(int((time - THEN).total_seconds()) // 60 for time in times)
    assert max(minutes.values()) <= 30, minutes
    assert len(minutes) >= 10


@pytest.mark.parametrize(
    ("recorded", "back"),
    [
        pytest.param("0123456789abcdef", 3600, id="changed while the operator was away"),
        pytest.param("", 86_400, id="not watched before"),
    ],
)
def test_the_restarts_are_spread_after_a_gap(recorded: str, back: int) -> None:
    changed = referenced(entry("edit", 0, "password"))
    times = []
    for uid in UIDS:
        found = replace(app(), uid=uid)
        live = observe(DEPLOYMENT, stored(deployment(found, restart=Restart(f"Secret/db={recorded}"))))
        world = World(changed, live=live, users=len(UIDS), now=at(back + 1))
        world.since = at(back)
        restart = restart_of(found, world)
        assert restart is not None
        assert restart.at is not None, "it is later than the gap"
        times.append(restart.at)
    minutes = Counter(int((time - at(back)).total_seconds()) // 60 for time in times)
    assert max(minutes.values()) <= 30, minutes
    assert at(back) < min(times) <= max(times) <= at(back + 2 + 600)


@pytest.mark.parametrize(
    ("users", "window"), [(1, 0), (2, 600 / 128), (11, 37.5), (51, 150), (52, 300), (101, 300), (102, 600), (5000, 600)]
)
def test_the_window_grows_with_the_users_up_to_a_limit(users: int, window: int) -> None:
    times = [slot(uid, THEN, users) for uid in UIDS]
    assert at(2) <= min(times)
    assert at(0.9 * window - 1) < max(times) <= at(max(2, window))


@pytest.mark.parametrize("users", [2, 51, 101, 150])
def test_a_further_webapp_brings_no_restart_forward(users: int) -> None:
    """Otherwise those whose new moment has passed would restart at once."""
    for changed in (THEN, at(1), at(130), at(450)):
        assert all(slot(uid, changed, users) <= slot(uid, changed, users + 1) for uid in UIDS)


def test_further_changes_postpone_no_restart_for_ever() -> None:
    """A Secret that changes each minute: each WebApp still restarts in each window of ten minutes."""
    for uid in UIDS[:20]:
        restarts, applied = 0, at(-1)
        for second in range(3 * 600):
            now, changed = at(second), at(second - second % 60)
            if applied < changed and slot(uid, changed, 200) <= now:
                restarts, applied = restarts + 1, changed
        assert 2 <= restarts <= 4


def test_a_waiting_restart_has_its_time_in_the_status() -> None:
    changed = referenced(entry("kubectl-create", 5, "password", "user"))
    waiting = next(uid for uid in UIDS if slot(uid, at(5), 200) > at(60))
    found = replace(app(), uid=waiting)
    live = observe(DEPLOYMENT, stored(deployment(found, restart=restart_of(found, World(DB)))))
    explanation = explained(found, Health(Level.HEALTHY), World(changed, live=live, users=200, now=at(6)))
    time = slot(waiting, at(5), 200)
    assert explanation.health.reason == "RestartScheduled"
    assert time.strftime("The pods restart at %Y-%m-%dT%H:%M:%SZ") in explanation.health.message
    assert explanation.until == time


class Shared(World):
    """A world in which 200 WebApps use ConfigMap flags, and one uses Secret db."""

    def reference(self, kind: Kind, name: str) -> Reference:
        return replace(super().reference(kind, name), users=200 if name == "flags" else 1)


def test_the_message_counts_the_webapps_of_the_changed_object() -> None:
    flags = referenced(entry("edit", 0, "beta"), kind=REFERENCED_CONFIG_MAP, name="flags")
    live = started(DB, flags, configMaps=["flags"])
    ahead = referenced(entry("kubectl-create", 100, "password", "user"))
    found = app(configMaps=["flags"])
    alone = explained(found, Health(Level.HEALTHY), Shared(ahead, flags, live=live, now=at(6))).health.message
    assert alone.endswith("The pods restart at 2026-03-01T12:01:42Z")
    waiting = replace(found, uid=next(uid for uid in UIDS if slot(uid, at(5), 200) > at(60)))
    changed = referenced(entry("edit", 5, "beta"), kind=REFERENCED_CONFIG_MAP, name="flags")
    live = observe(DEPLOYMENT, stored(deployment(waiting, restart=restart_of(waiting, World(DB, flags)))))
    spread = explained(waiting, Health(Level.HEALTHY), Shared(DB, changed, live=live, now=at(6))).health.message
    assert spread.endswith("spread over time because 200 WebApps use it")
