"""spec.restartOn: the last change of data, the slots of restarts, and what the pod template records."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from coxswain.kernel.cache.coverage import Visibility
from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.objects.kinds import Kind, UnknownKind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.reconciling.child.world import CacheView
from coxswain.kernel.reconciling.memory.memory import Memory
from coxswain.kernel.status.health import Health, Level
from coxswain.kernel.workload import Reference
from coxswain.settings import Settings
from coxswain.webapp.children.deployment import TYPE, deployment
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT, REFERENCED_CONFIG_MAP, SECRET, WEBAPP
from coxswain.webapp.restarts import Restart, explained, restart_of
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from rendered import Empty, observe
from unit.objects import observed_webapp, stored, webapp
from unit.set_coverage import SetCoverage

THEN = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
SHOP: dict[str, Any] = {
    "spec": {"image": "registry.example/web:1", "restartOn": {"secrets": ["db"], "configMaps": ["flags"]}}
}


def at(seconds: float) -> datetime:
    return THEN + timedelta(seconds=seconds)


def entry(manager: str, seconds: int, *keys: str, field: str = "data") -> dict[str, Any]:
    """An entry of managedFields that owns keys of a field."""
    owned: dict[str, Any] = {f"f:{field}": {".": {}, **{f"f:{key}": {} for key in keys}}}
    time = at(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": owned}


def referenced(*entries: dict[str, Any], kind: Kind = SECRET, name: str = "db", **metadata: Any) -> Projection:
    """A Secret or ConfigMap as PartialObjectMetadata, as observed."""
    identity = {"name": name, "namespace": "shop", "uid": "s-1", "resourceVersion": "5"}
    created = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    return observe(kind, {"metadata": {**identity, **created, "managedFields": list(entries), **metadata}})


LABELLED = entry("kubectl-label", 50, "labels", field="metadata")
DB = referenced(entry("kubectl-create", 0, "password", "user"))


class World(Empty):
    """A world with a Deployment, Secrets and ConfigMaps."""

    def __init__(
        self, *found: Projection, live: Projection | None = None, users: int = 1, now: datetime = THEN
    ) -> None:
        self._found = {(each.kind, each.name): each for each in found}
        self._live = live
        self._users = users
        self.now = now
        self.unseen: str | None = None
        self.since: datetime | None = None

    def live(self, kind: Kind, name: str) -> Projection | None:  # noqa: ARG002
        return self._live if kind == DEPLOYMENT else None

    def reference(self, kind: Kind, name: str) -> Reference:
        return Reference(self._found.get((kind, name)), self._users, self.unseen, self.since)


def app(**spec: Any) -> WebApp:
    return webapp(restartOn={"secrets": ["db"], **spec})


def running(recorded: str, **spec: Any) -> Projection:
    """The live Deployment with these records."""
    return observe(DEPLOYMENT, stored(deployment(app(**spec), restart=Restart(recorded))))


def started(*found: Projection, **spec: Any) -> Projection:
    """The live Deployment as it was made when these objects were there."""
    restart = restart_of(app(**spec), World(*found))
    assert restart is not None
    return running(restart.annotation, **spec)


def restarted(world: World, **spec: Any) -> bool:
    """Tell whether the pod template differs from that of the live Deployment."""
    [wanted] = TYPE.all_desired(app(**spec), world)
    live = world.live(DEPLOYMENT, "web")
    assert live is not None
    found: bool = wanted.manifest["spec"]["template"] != live.content["spec"]["template"]
    return found


def test_the_cache_holds_neither_data_nor_labels_nor_annotations() -> None:
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps({"data": {"password": "SECRET"}})}
    raw = {
        "data": {"password": "SECRET"},
        "metadata": {**_identity(), "annotations": applied, "labels": {"a": "SECRET"}},
    }
    found = observe(SECRET, raw)
    assert "SECRET" not in repr(found)
    assert found.content.keys() == {"created", "digest", "changed"}


def _identity() -> dict[str, Any]:
    return {"name": "db", "namespace": "shop", "uid": "s-1", "resourceVersion": "5"}


@pytest.mark.parametrize(
    "entries",
    [
        [entry("kubectl-create", 0, "password", "user"), LABELLED],
        [LABELLED, entry("kubectl-create", 0, "user", "password")],
    ],
)
def test_a_change_of_labels_is_no_change(entries: list[dict[str, Any]]) -> None:
    assert referenced(*entries).content == DB.content
    live = started(DB)
    assert not restarted(World(referenced(*entries), live=live, now=at(1000)))


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(referenced(entry("kubectl-create", 7, "password", "user")), id="by the same manager"),
        pytest.param(referenced(entry("kubectl-create", 0, "user"), entry("edit", 7, "password")), id="by another one"),
        pytest.param(referenced(entry("kubectl-create", 0, "user")), id="a key removed by another one"),
        pytest.param(referenced(entry("kubectl-create", 0, "password", "user"), uid="s-2"), id="created again"),
        pytest.param(
            referenced(entry("kubectl-create", 0, "password", "user"), entry("x", 7, "a", field="binaryData")),
            id="binary data",
        ),
    ],
)
def test_a_change_of_data_restarts(changed: Projection) -> None:
    live = started(DB)
    assert restarted(World(changed, live=live, now=at(9)))


def test_two_changes_within_a_second_are_one_restart() -> None:
    """They leave the same trace, so the pods must start after the second."""
    first = referenced(entry("kubectl-create", 7, "password", "user"))
    live = started(DB)
    world = World(first, live=live, now=at(8.9))
    assert not restarted(world)
    [wanted] = TYPE.all_desired(app(), world)
    assert wanted.until == at(9), "the reconcile comes back at that time"


@pytest.mark.parametrize("users", [1, 200])
def test_a_change_at_the_end_of_time_waits(users: int) -> None:
    """A client may write any time into managedFields."""
    changed = referenced({**entry("edit", 0, "password"), "time": "9999-12-31T23:59:59Z"})
    world = World(changed, live=started(DB), users=users, now=at(1000))
    assert not restarted(world)
    health = explained(app(), Health(Level.HEALTHY, explainable=True), world).health
    assert "The pods restart at 9999-12-" in health.message


def test_a_missing_or_unseen_object_keeps_its_record() -> None:
    live = started(DB)
    assert not restarted(World(live=live, now=at(1000)))
    unseen = World(referenced(entry("edit", 7, "password")), live=live, now=at(1000))
    unseen.unseen = "The operator cannot list secrets"
    assert not restarted(unseen)


def test_an_object_that_appears_later_restarts() -> None:
    live = started()
    assert "'coxswain.dev/restart-on': 'Secret/db='" in str(live.content)
    assert restarted(World(DB, live=live, now=at(1000)))


def test_a_new_name_does_not_wait_and_takes_others_along() -> None:
    flags = referenced(entry("edit", 5, "beta"), kind=REFERENCED_CONFIG_MAP, name="flags")
    live = started(DB)
    changed = referenced(entry("kubectl-create", 5, "password", "user"))
    world = World(changed, flags, live=live, users=200, now=at(6))
    restart = restart_of(app(configMaps=["flags"]), world)
    assert restart == Restart(restart_of(app(configMaps=["flags"]), World(changed, flags)).annotation)  # type: ignore[union-attr]


def test_a_change_of_the_present_second_does_not_come_along() -> None:
    """A further change in this second would look the same, and the pods may have started before it."""
    flags = referenced(entry("edit", 0, "beta"), kind=REFERENCED_CONFIG_MAP, name="flags")
    live = started(DB, flags, configMaps=["flags"])
    due = referenced(entry("kubectl-create", 5, "password", "user"))
    latest = referenced(entry("edit", 7, "beta"), kind=REFERENCED_CONFIG_MAP, name="flags")
    first = restart_of(app(configMaps=["flags"]), World(due, latest, live=live, now=at(7.2)))
    before = restart_of(app(configMaps=["flags"]), World(due, flags))
    assert first == replace(before, at=at(9))  # type: ignore[type-var]
    live = running(first.annotation, configMaps=["flags"])  # type: ignore[union-attr]
    assert restarted(World(due, latest, live=live, now=at(9)), configMaps=["flags"])


def test_a_change_of_the_second_before_comes_along() -> None:
    flags = referenced(entry("edit", 0, "beta"), kind=REFERENCED_CONFIG_MAP, name="flags")
    live = started(DB, flags, configMaps=["flags"])
    due = referenced(entry("kubectl-create", 5, "password", "user"))
    later = referenced(entry("edit", 6, "beta"), kind=REFERENCED_CONFIG_MAP, name="flags")
    found = restart_of(app(configMaps=["flags"]), World(due, later, live=live, now=at(7)))
    assert found == restart_of(app(configMaps=["flags"]), World(due, later))


def test_without_the_field_nothing_is_recorded() -> None:
    world = World(live=started(DB))
    assert restart_of(webapp(), world) is None
    assert explained(webapp(), Health(Level.HEALTHY, explainable=True), world).health == Health(Level.HEALTHY)


def test_the_records_of_a_foreign_deployment_do_not_count() -> None:
    live = replace(started(DB), controller=None, owned=None)
    restart = restart_of(app(), World(live=live, now=at(5)))
    assert restart == Restart("Secret/db=")


def test_a_change_enqueues_the_webapps_that_name_the_object() -> None:
    store = Store(WEBAPP)
    for name, spec in (("web", SHOP), ("other", {}), ("third", SHOP)):
        store.observe(observed_webapp(name, **spec))
    assert store.users(SECRET, Key("shop", "db")) == {Key("shop", "web"), Key("shop", "third")}
    assert store.observe(DB) == {Key("shop", "web"), Key("shop", "third")}
    labelled = referenced(entry("kubectl-create", 0, "password", "user"), LABELLED, resourceVersion="6")
    assert store.observe(labelled) == set()
    assert store.observe(referenced(entry("edit", 7, "user"), resourceVersion="7")) == {
        Key("shop", "web"),
        Key("shop", "third"),
    }
    assert store.forget(SECRET, Key("shop", "db"), 8) == {Key("shop", "web"), Key("shop", "third")}
    store.observe(observed_webapp("third", version=11))
    assert store.users(SECRET, Key("shop", "db")) == {Key("shop", "web")}
    assert store.observe(referenced(kind=REFERENCED_CONFIG_MAP, name="flags")) == {Key("shop", "web")}
    assert store.get(CONFIG_MAP, Key("shop", "flags")) is None, "those of WebApps are another collection"
    store.clear()
    assert store.users(SECRET, Key("shop", "db")) == set()


def test_kinds_are_watched_on_demand_and_by_metadata_only() -> None:
    kinds = WORKLOAD.projector.kinds
    assert not {SECRET, REFERENCED_CONFIG_MAP} & {*kinds.watched, *kinds.optional}
    some = kinds.with_referenced(["secrets"])
    assert {*some.watched} - {*kinds.watched} == {SECRET} == {*some.optional} - {*kinds.optional}
    with pytest.raises(UnknownKind, match="'pods' cannot be watched: choose of secrets, configmaps"):
        kinds.with_referenced(["pods"])
    for kind in (SECRET, REFERENCED_CONFIG_MAP):
        for watching, asked in ((True, "PartialObjectMetadata"), (False, "PartialObjectMetadataList")):
            accepted = kind.accept(watching=watching)
            assert accepted == f"application/json;as={asked};g=meta.k8s.io;v=v1", "no alternative with data"


def test_a_reference_tells_whether_its_kind_is_watched() -> None:
    memory, unwatched = Memory("uid", Settings().write_war), SetCoverage(Visibility("not set", 0.0, watched=False))
    view = CacheView(Store(WEBAPP), unwatched, app(), memory, THEN)
    assert view.reference(SECRET, "db").watched is False


def test_a_reference_tells_since_when_the_cache_is_complete() -> None:
    store = Store(WEBAPP)
    store.observe(observed_webapp("web", **SHOP))
    store.observe(DB)
    memory = Memory("uid", Settings().write_war)
    view = CacheView(store, SetCoverage(Visibility(None, 90.0)), app(), memory, THEN)
    assert view.reference(SECRET, "db") == Reference(DB, 1, None, THEN - timedelta(seconds=90))
