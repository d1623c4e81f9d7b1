"""A field that the API server refuses: the message names its manager if that is not the operator."""

import dataclasses
from typing import Any

import pytest

from coxswain.kernel.conflicts.refused_fields import manager_of
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry
from coxswain.webapp.kinds import SERVICE
from unit.bench import WEB, Bench
from unit.server import refusal

MANIFEST: dict[str, Any] = {
    "metadata": {"labels": {"a.b/c": "x"}},
    "spec": {"type": "ClusterIP", "ports": [{"port": 80, "protocol": "TCP"}]},
}
OTHER = ManagedFieldsEntry(
    "other",
    {
        "f:metadata": {"f:annotations": {".": {}, "f:a.b/d": {}}},
        "f:spec": {
            "f:type": {},
            "f:externalTrafficPolicy": {},
            "f:ports": {'k:{"port":80,"protocol":"TCP"}': {"f:nodePort": {}, "f:port": {}}},
            "f:atomic": {},
            "f:volumes": {'k:{"name":"a"}': {".": {}, "f:secret": {"f:secretName": {}}}},
        },
    },
)
BY_ANOTHER = (
    "kubectl-edit has set spec.externalTrafficPolicy, not the operator. Change the spec, or correct the field in the "
    "object: kubectl edit service web -n shop"
)


@pytest.mark.parametrize(
    ("field", "manager"),
    [
        ("spec.externalTrafficPolicy", "other"),
        ("metadata.annotations[a.b/d]", "other"),
        ("spec.atomic[0].name", "other"),
        ("spec.volumes[0].secret", "other"),
        ("spec.volumes[0].emptyDir", None),
        ("spec.ports[1].nodePort", None),
        ("spec.type", None),
        ("spec.ports[0].port", None),
        ("spec.ports", None),
        ("metadata.labels[a.b/c]", None),
        ("metadata.annotations[a.b/e]", None),
        ("spec.clusterIP", None),
        ("", None),
    ],
)
def test_the_manager_of_a_field_that_the_manifest_does_not_set(field: str, manager: str | None) -> None:
    assert manager_of(field, MANIFEST, [ManagedFieldsEntry("empty", {}), OTHER]) == manager


@pytest.mark.parametrize(
    ("field", "advice"),
    [
        ("spec.externalTrafficPolicy", BY_ANOTHER),
        (
            "spec.sessionAffinity",
            "Correct what another manager has set in the object, or the spec: kubectl edit webapp web -n shop",
        ),
    ],
)
def test_the_advice_after_a_rejected_write(field: str, advice: str) -> None:
    bench = Bench()
    bench.converge()
    live = bench.store.get(SERVICE, WEB)
    assert live is not None
    theirs: dict[str, Any] = {"f:spec": {"f:externalTrafficPolicy": {}}}
    spec = {**live.content["spec"], "externalTrafficPolicy": "Local"}
    others = (ManagedFieldsEntry("coxswain-replicas", theirs), ManagedFieldsEntry("kubectl-edit", theirs))
    bench.store.observe(dataclasses.replace(live, version=400, content={**live.content, "spec": spec}, others=others))
    causes = [{"field": "spec", "reason": "x"}, {"field": field, "reason": "FieldValueInvalid"}]
    bench.writer.fail("update Service", refusal(422, f"{field}: Invalid value", causes=causes))
    bench.webapp(version=500, generation=2, service={"sessionAffinity": "ClientIP"})
    bench.run()
    (found,) = [each for each in bench.webapp_now().content["status"]["children"] if each["kind"] == "Service"]
    assert found["message"].endswith(f"The operator retries after a change. {advice}")
    bench.run()
    assert bench.writer.sent == [], "the message of the next reconcile is the same"
