"""A revision that runs after a rollback restarts after a change of its Secrets, whatever the written spec names."""

import pytest

from coxswain.kernel.cache.store import Key, Store
from coxswain.webapp.kinds import SECRET, WEBAPP
from rendered import observe
from unit.model_bench import KEY
from unit.objects import raw_webapp
from unit.release_bench import ReleaseBench
from unit.test_rollback import BAD, ONE, TWO, failed, released

pytestmark = pytest.mark.model

PLACE = Key("shop", "db")
DROPPED = {"image": BAD, "restartOn": None}


def change_secret(bench: ReleaseBench, version: int) -> set[Key]:
    """Change the data of the Secret. Return the WebApps to enqueue."""
    time = bench.time.strftime("%Y-%m-%dT%H:%M:%SZ")
    entry = {"manager": "kubectl", "operation": "Update", "time": time, "fieldsV1": {"f:data": {"f:password": {}}}}
    metadata = {"name": "db", "namespace": "shop", "uid": "s-1", "resourceVersion": str(version)}
    created = {"creationTimestamp": "2025-01-01T00:00:00Z", "managedFields": [entry]}
    return bench.store.observe(observe(SECRET, {"metadata": {**metadata, **created}}))


def restart(bench: ReleaseBench) -> str:
    """Return the recorded change of the Secret in the pod template."""
    annotations: dict[str, str] = bench.deployment["spec"]["template"]["metadata"]["annotations"]
    return annotations["coxswain.dev/restart-on"]


def rolled_back() -> ReleaseBench:
    """Return a bench whose running revision restarts after a change, and whose written spec does not."""
    bench = released(restartOn={"secrets": ["db"]})
    change_secret(bench, 5)
    bench.settle()
    failed(bench, **DROPPED)
    assert bench.running == ONE
    bench.roll_out()
    return bench


def test_a_change_of_a_secret_of_the_running_revision_enqueues_its_webapp() -> None:
    bench = rolled_back()
    before = restart(bench)
    assert change_secret(bench, 6) == {KEY}
    bench.pass_time(60)
    bench.reconcile_once()
    assert restart(bench) != before


def test_after_a_restart_of_the_operator_too() -> None:
    bench = rolled_back()
    bench.restart()
    bench.reconcile_once()
    assert change_secret(bench, 6) == {KEY}


def test_once_the_written_spec_runs_only_its_names_count() -> None:
    bench = rolled_back()
    bench.change(image=TWO)
    bench.settle()
    assert bench.running == TWO
    assert change_secret(bench, 6) == set()


def test_names_of_the_running_state_last_as_long_as_the_parent() -> None:
    store = Store(WEBAPP)
    store.observe(observe(WEBAPP, raw_webapp(version=5)))
    store.follow(KEY, [(SECRET.kind, "db")])
    assert store.users(SECRET, PLACE) == {KEY}
    store.observe(observe(WEBAPP, raw_webapp(version=6)))
    assert store.users(SECRET, PLACE) == {KEY}, "each status write is a new version"
    spec = {"image": ONE, "restartOn": {"secrets": ["db"]}}
    store.observe(observe(WEBAPP, {**raw_webapp(version=7), "spec": spec}))
    store.follow(KEY, [])
    assert store.users(SECRET, PLACE) == {KEY}, "the written spec names it"
    store.observe(observe(WEBAPP, raw_webapp(version=8)))
    assert store.users(SECRET, PLACE) == set()
    store.follow(KEY, [(SECRET.kind, "db")])
    store.forget(WEBAPP, KEY, 9)
    assert store.users(SECRET, PLACE) == set()
    store.follow(KEY, [(SECRET.kind, "db")])
    assert store.users(SECRET, PLACE) == set(), "its deletion overtook the reconcile"
    store.observe(observe(WEBAPP, raw_webapp(version=10)))
    assert store.users(SECRET, PLACE) == set(), "a namesake runs its own spec"
