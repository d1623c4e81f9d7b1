"""The reconciler remembers only the current children of a WebApp, and only those of one uid."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.api.errors import Unreachable
from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.manifests import Manifest
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.status.conflict_report import Repair
from coxswain.webapp.kinds import CONFIG_MAP, CONTROLLER_REVISION, SERVICE_ACCOUNT, WEBAPP
from rendered import desired, webapp_of
from unit.bench import WEB, Bench
from unit.objects import observed_child
from unit.server import refusal

APART = ("_store", "_writer", "_settings", "_recorder")
FIELD = ("f:metadata", "f:labels", "f:team")


@pytest.fixture
def bench() -> Bench:
    """Return a bench without any object."""
    return Bench()


def sizes(thing: Any, path: str = "", depth: int = 8) -> dict[str, int]:
    """Return the total number of entries in each table of an object and of its parts."""
    if isinstance(thing, (dict, set, list, tuple)):
        found = {path: len(thing)}
        for part in thing.values() if isinstance(thing, dict) else thing:
            for name, size in sizes(part, f"{path}[]", depth - 1).items():
                found[name] = found.get(name, 0) + size
        return found
    if depth == 0 or type(thing).__module__.partition(".")[0] != "coxswain" or isinstance(thing, Projection):
        return {}
    parts = {name: sizes(part, f"{path}.{name}", depth - 1) for name, part in vars(thing).items() if name not in APART}
    return {name: size for part in parts.values() for name, size in part.items()}


def remember_all(bench: Bench) -> None:
    """Fill the memory: a taken name, a refusal, failures, a replacement, a write war, repairs, a removal."""
    bench.writer.fail("create ServiceAccount", refusal(409))
    bench.writer.answer("look ServiceAccount", observed_child(SERVICE_ACCOUNT, label=None))
    bench.writer.fail("create Service", refusal(422, "spec.x: Invalid"))
    bench.webapp()
    bench.run()
    bench.writer.fail("create Service", Unreachable("reset"))
    bench.reconciler.resynced()
    bench.run()
    fight(bench)
    bench.memory.drift.add([Repair("Deployment/web", "metadata.labels.team", "kubectl", "1", "5")])


def fight(bench: Bench) -> None:
    for _ in range(5):
        manifest = desired(webapp_of(bench.webapp_now()))[-1]
        bench.memory.child("Deployment/web").wars.enforced(manifest, [FIELD], bench.now)


@pytest.mark.parametrize("why", ["gone", "going"])
def test_a_deleted_webapp_leaves_no_memory(bench: Bench, why: str) -> None:
    remember_all(bench)
    observed = bench.store.parent(WEB)
    assert observed is not None
    if why == "gone":
        bench.store.forget(WEBAPP, WEB, observed.version + 1)
    else:
        bench.store.observe(dataclasses.replace(observed, version=observed.version + 1, terminating=True))
    assert any(sizes(bench.reconciler).values())
    bench.run()
    assert sizes(bench.reconciler) == sizes(Bench().reconciler)


def test_memory_belongs_to_a_uid(bench: Bench) -> None:
    """K25: a WebApp was recreated between two reconciles, and the new one inherited the ledger and the write wars."""
    remember_all(bench)
    observed = bench.store.parent(WEB)
    assert observed is not None
    bench.store.forget(WEBAPP, WEB, observed.version + 1)
    bench.writer.answers.clear()
    bench.webapp(version=observed.version + 2, uid="uid-2", paused=True)
    bench.run()
    fresh = Bench()
    fresh.webapp(uid="uid-2", paused=True)
    fresh.run()
    assert sizes(bench.reconciler) == sizes(fresh.reconciler)


@pytest.mark.thorough
def test_memory_is_bounded_by_the_current_children(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """K21: each change of the config left entries behind. In this test a policy overrides a label of each ConfigMap."""
    usual = bench.writer._stored

    def held(manifest: Manifest, uid: str | None = None) -> Projection:
        found = usual(manifest, uid)
        if manifest["kind"] != CONFIG_MAP.kind:
            return found
        labels = {**found.content["metadata"]["labels"], "app.kubernetes.io/managed-by": "policy"}
        metadata = {**found.content["metadata"], "labels": labels}
        return dataclasses.replace(found, content={**found.content, "metadata": metadata})

    monkeypatch.setattr(bench.writer, "_stored", held)

    def change(number: int) -> dict[str, int]:
        bench.webapp(version=bench.writer.version + 1, generation=1 + number, config={"A": str(number)})
        bench.run()
        bench.roll_out()
        bench.run()
        for config in bench.store.objects_of(WEB, CONFIG_MAP)[: -1 if number % 2 else None]:
            bench.writer.version += 1
            bench.store.forget(CONFIG_MAP, Key(config.namespace, config.name), bench.writer.version)
        for revision in bench.store.objects_of(WEB, CONTROLLER_REVISION)[: -1 if number % 2 else None]:
            bench.writer.version += 1
            bench.store.forget(CONTROLLER_REVISION, Key(revision.namespace, revision.name), bench.writer.version)
        bench.run()
        return sizes(bench.reconciler)

    early = [change(number) for number in range(1, 5)]
    late = [change(number) for number in range(5, 45)]
    most = {name: max(each.get(name, 0) for each in early) for name in early[0]}
    assert {name: size for name, size in late[-1].items() if size > most.get(name, 0)} == {}


def test_a_write_war_is_forgotten_with_its_child(bench: Bench) -> None:
    bench.converge()
    service = desired(webapp_of(bench.webapp_now()))[2]
    for _ in range(5):
        bench.memory.child("Service/web").wars.enforced(service, [FIELD], 0)
    bench.webapp(version=500, generation=2, ports=[])
    bench.run()
    assert bench.memory.child("Service/web").wars.suspended(service, 0) == ()


def test_a_write_war_over_the_status_is_kept(bench: Bench) -> None:
    bench.converge()
    status: Manifest = {"kind": "WebApp", "metadata": {"name": "web"}, "status": 1}
    for _ in range(5):
        bench.memory.status_wars.enforced(status, [("f:status",)], 0)
    bench.run()
    assert bench.memory.status_wars.suspended(status, 0) == ("status",)
