"""Immutable fields: children that are deleted and recreated, and cases left to a person."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.cache.store import Key
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT, SERVICE, SERVICE_ACCOUNT, WEBAPP
from unit.bench import WEB, Bench
from unit.server import refusal

OTHER = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}
"""A selector that even an adopted Deployment could not keep."""


@pytest.fixture
def bench() -> Bench:
    """Return a bench without any object."""
    return Bench()


def changed(bench: Bench, kind: Kind, **content: Any) -> Projection:
    """Put a recreated child of someone else into the store, with our owner reference."""
    name = next(found.name for found in bench.store.objects_of(WEB, kind))
    live = next(found for found in bench.store.objects_of(WEB, kind) if found.name == name)
    bench.writer.version += 100
    other = dataclasses.replace(
        live, version=bench.writer.version, uid=f"new-{kind}", content={**live.content, **content}
    )
    bench.store.observe(other)
    return other


def test_a_deployment_is_replaced_around_its_pods(bench: Bench) -> None:
    bench.converge()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    other = changed(bench, DEPLOYMENT, spec={**live.content["spec"], "selector": OTHER})
    bench.run()
    assert bench.writer.sent == ["remove Deployment but not its pods", "status"]
    assert [told.reason for told in bench.events.told] == ["Replaced"]
    bench.run()
    assert bench.writer.sent == [], "the DELETED event requeues the WebApp"
    bench.store.forget(DEPLOYMENT, WEB, other.version + 1)
    bench.writer.version += 10
    bench.events.told.clear()
    bench.run()
    assert bench.writer.sent[0] == "create Deployment"
    assert bench.events.told == [], "its deletion is not drift"


def test_a_deployment_whose_pods_would_be_lost_is_kept_and_the_command_reported(bench: Bench) -> None:
    bench.converge()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    labels = {"app": "web"}
    template = {**live.content["spec"]["template"], "metadata": {"labels": labels}}
    spec = {**live.content["spec"], "selector": OTHER, "template": template}
    changed(bench, DEPLOYMENT, spec=spec)
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Stalled"] == ("True", "Immutable")
    assert "kubectl delete deployment web --cascade=orphan -n shop" in bench.events.told[0].note


def test_a_config_map_with_another_content_is_replaced_and_the_pods_wait(bench: Bench) -> None:
    bench.converge()
    changed(bench, CONFIG_MAP, data={"A": "another"})
    bench.run()
    assert bench.writer.sent == ["remove ConfigMap", "status"]


def test_a_replacement_within_one_reconcile_is_reported_too(bench: Bench) -> None:
    """The DELETED event may arrive before the response to the DELETE."""
    bench.converge()
    changed(bench, CONFIG_MAP, data={"A": "another"})
    (config,) = bench.store.objects_of(WEB, CONFIG_MAP)

    def gone() -> Projection:
        bench.writer.version += 1000
        bench.store.forget(CONFIG_MAP, Key(config.namespace, config.name), bench.writer.version)
        return config

    bench.writer.answers["remove ConfigMap"] = gone
    bench.run()
    assert bench.writer.sent[:2] == ["remove ConfigMap", "create ConfigMap"]
    assert [record.reason for record in bench.events.told] == ["Replaced"]


def test_a_service_is_never_deleted_and_all_else_is_applied(bench: Bench) -> None:
    bench.converge()
    bench.webapp(version=500, generation=2, service={"headless": True, "sessionAffinity": "ClientIP"})
    bench.run()
    assert bench.writer.sent == ["update Service", "status"]
    sent = bench.writer.manifests["Service"]["spec"]
    assert "clusterIP" not in sent
    assert sent["sessionAffinity"] == "ClientIP"
    assert bench.conditions()["Stalled"] == ("True", "Immutable")
    bench.run()
    assert bench.writer.sent == []


def test_a_replaced_deployment_keeps_the_count_of_its_autoscaler(bench: Bench) -> None:
    bench.converge()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    note = {"coxswain.dev/replicas": "kept=7,spec=1"}
    assert live.owned is not None
    metadata = {**live.content["metadata"], "annotations": note}
    spec = {**live.content["spec"], "replicas": 7, "selector": OTHER}
    fields = {**live.owned, "f:metadata": {**live.owned["f:metadata"], "f:annotations": {f"f:{next(iter(note))}": {}}}}
    bench.writer.version = 500
    other = dataclasses.replace(
        live, version=500, uid="new", owned=fields, content={**live.content, "metadata": metadata, "spec": spec}
    )
    bench.store.observe(other)
    bench.run()
    assert bench.writer.sent[:2] == ["create PodDisruptionBudget", "remove Deployment but not its pods"]
    bench.store.forget(DEPLOYMENT, WEB, bench.writer.version + 1)
    bench.writer.version = 600
    bench.run()
    made = bench.store.get(DEPLOYMENT, WEB)
    assert made is not None
    assert made.content["spec"]["replicas"] == 7
    assert made.content["metadata"]["annotations"] == note


def selected_by_app(bench: Bench, **more: Any) -> Projection:
    """Recreate the Deployment as someone else, with another selector for the same pods."""
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    spec = {**live.content["spec"], "selector": OTHER, **more}
    return changed(bench, DEPLOYMENT, spec=spec)


def test_a_replacement_keeps_fields_of_others(bench: Bench) -> None:
    bench.converge()
    rule = {"kind": "Deployment", "path": "spec.replicas", "policy": "Yield"}
    bench.webapp(version=500, generation=2, conflicts={"rules": [rule]})
    bench.writer.version = 500
    other = selected_by_app(bench, replicas=9)
    entry = ManagedFieldsEntry("scaler", {"f:spec": {"f:replicas": {}}}, "Update")
    bench.store.observe(dataclasses.replace(other, version=other.version + 1, others=(entry,)))
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Stalled"] == ("True", "Immutable")


def test_a_deployment_is_not_replaced_again_and_again(bench: Bench) -> None:
    bench.converge()
    removed = 0
    for _ in range(8):
        bench.now += 1
        bench.roll_out()
        other = selected_by_app(bench)
        bench.run()
        removed += bench.writer.sent.count("remove Deployment but not its pods")
        if bench.conditions()["Contested"][0] == "True":
            break
        bench.writer.version += 1
        bench.store.forget(DEPLOYMENT, WEB, other.version + 1)
        bench.writer.version += 10
        bench.run()
    assert removed == 5
    assert bench.conditions()["Ready"] == ("False", "Contested")


def test_after_a_history_reset_no_replacement_is_pending(bench: Bench) -> None:
    """K12: etcd was restored to a time before the DELETE. The same object exists, and nothing will delete it."""
    bench.converge()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    changed(bench, DEPLOYMENT, spec={**live.content["spec"], "selector": OTHER})
    bench.run()
    kinds = (WEBAPP, SERVICE_ACCOUNT, CONFIG_MAP, SERVICE, DEPLOYMENT)
    restored = [found for kind in kinds for found in bench.store.objects_of(WEB, kind)]
    webapp = bench.store.parent(WEB)
    assert webapp is not None
    bench.store.clear()
    bench.reconciler.start_over()
    for found in (webapp, *restored):
        bench.store.observe(found)
    bench.writer.answer("look WebApp", webapp)
    bench.run()
    assert "remove Deployment but not its pods" in bench.writer.sent


def test_a_replacement_that_a_webhook_denies_with_404_is_not_done(bench: Bench) -> None:
    bench.converge()
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    spec = {**live.content["spec"], "selector": OTHER}
    bench.store.observe(dataclasses.replace(live, version=500, content={**live.content, "spec": spec}))
    bench.writer.version = 500
    bench.writer.fail("remove Deployment but not its pods", refusal(404, 'admission webhook "x" denied the request'))
    assert bench.run().failed is not None
    assert bench.conditions()["Ready"] == ("False", "AdmissionDenied")


def test_a_history_reset_leaves_no_memory(bench: Bench) -> None:
    bench.converge()
    bench.writer.fail("update Deployment", refusal(422))
    bench.webapp(version=500, generation=2, image="registry.example/web:2")
    bench.run()
    bench.reconciler.start_over()
    assert len(bench.reconciler._memories) == 0
