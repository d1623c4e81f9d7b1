"""F12 to F15: concurrent writes by others to a WebApp and its children."""

from typing import Any

import pytest

from fault_engine.lives import CREATE
from fault_engine.objects import condition
from fault_engine.run import Case
from fault_engine.script import Edit, Kubectl, Script, Settle, Storm, Wait, apply, kubectl, patch
from faults.drifted_fields import child, drift_of_each_field, waiting
from faults.lives import webapp
from faults.pod_bases import pod_bases
from faults.policies import relabelling
from faults.walk import everything, guarded

CREATED: Script = (*CREATE, Settle())
USER = "kubectl-client-side-apply"
"""The manager of the user's own fields, so that these fields have no other owner after a write by it."""


def edited(resource: str, patch: Any, manager: str = "another") -> Edit:
    return Edit(resource, "web", patch, manager=manager)


STORM = Storm(
    (
        tuple(edited("webapps", {"metadata": {"labels": {"storm": value}}}) for value in ("1", "2", None)),
        tuple(edited("webapps", {"metadata": {"annotations": {"storm": value}}}) for value in ("1", "2", None)),
        tuple(edited("webapps", {"spec": {"replicas": count}}, USER) for count in (1, 3, 2)),
        tuple(edited("deployments", {"spec": {"replicas": count}}) for count in (0, 5, 4)),
    ),
    table=120,
)
LAST = edited("deployments", {"spec": {"replicas": 5}})
"""The last write. A later change of the WebApp would cause an apply of the Deployment even without drift detection."""


@pytest.mark.fault(
    "F12",
    "four concurrent writers: the labels, annotations and spec of a WebApp, and a field of its Deployment",
    oracles=("O1", "O3", "O4", "O7"),
    broken="sees-no-drift",
)
@pytest.mark.ci
def test_storm(case: Case) -> None:
    played = case((*CREATED, STORM, LAST, Settle()), reference=waiting(case, CREATED, 2))
    print(*played.report, sep="\n")


FULL = {key: value for key, value in everything().items() if key not in ("priorityClassName", "nodeSelector")}
LOAD_BALANCER = {
    **FULL["service"],
    "type": "LoadBalancer",
    "sessionAffinity": "ClientIP",
    "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}},
    "externalTrafficPolicy": "Local",
    "internalTrafficPolicy": "Local",
    "trafficDistribution": "PreferClose",
    "loadBalancerClass": "example.com/none",
    "loadBalancerSourceRanges": ["10.0.0.0/8"],
    "ipFamilyPolicy": "SingleStack",
    "publishNotReadyAddresses": True,
}
GUARDS = ("networkpolicies", "poddisruptionbudgets", "horizontalpodautoscalers")
GUARDED = {name: value for spec in reversed(guarded()) for name, value in spec.items() if name != "replicas"}
FIELDS = {
    **dict.fromkeys(("serviceaccounts", "configmaps", "services", "deployments"), FULL),
    **{key: {**GUARDED, "disruption": {"enabled": True, "maxUnavailable": 1}} for key in GUARDS},
    "pods": pod_bases()[0],
    "load balancers": {**FULL, "service": LOAD_BALANCER},
}
"""By resource, a spec of a WebApp with this child. Pods stand for the pod template of a Deployment, load balancers for
a Service with each field that `everything` lacks."""
RESOURCES = {"pods": "deployments", "load balancers": "services"}


@pytest.mark.fault(
    "F13",
    "each field that the operator owns in a child is changed or removed, alone and all at once",
    oracles=("O1", "O3", "O4", "O7"),
    broken="sees-no-drift",
)
@pytest.mark.parametrize("operation", ["replace", "remove"])
@pytest.mark.parametrize(
    "what",
    [
        "serviceaccounts",
        "configmaps",
        pytest.param("services", marks=pytest.mark.ci),
        "deployments",
        "pods",
        "load balancers",
        *GUARDS,
    ],
)
def test_each_field_changed(case: Case, what: str, operation: str) -> None:
    resource = RESOURCES.get(what, what)
    created: Script = (apply(webapp(FIELDS[what])), Settle())
    drift_of_each_field(case, resource, created, operation, CHANGED[what])


CHANGED = {
    "serviceaccounts": 3,
    "configmaps": 3,
    "services": 6,
    "load balancers": 14,
    "deployments": 30,
    "pods": 100,
    "networkpolicies": 6,
    "poddisruptionbudgets": 6,
    "horizontalpodautoscalers": 8,
}
"""The minimum number of accepted edits. The API server refuses some: the data of the operator's ConfigMaps is
immutable, and required fields cannot be removed. The labels alone are four."""

REFERENCES = ("serviceaccount/web", "service/web", "deployment/web")
STRIPPED: dict[str, Any] = {"metadata": {"ownerReferences": None, "labels": None}}


@pytest.mark.fault(
    "F13",
    "each child deleted, or its owner reference and labels removed",
    oracles=("O1", "O3", "O4", "O6", "O7"),
    broken="sees-no-drift",
)
@pytest.mark.quick
def test_children_deleted_and_stripped(case: Case) -> None:
    configmap = child(case.reference(CREATED), "configmaps")["metadata"]["name"]
    things = [reference.split("/") for reference in (*REFERENCES, f"configmap/{configmap}")]
    deleted = [step for kind, name in things for step in (kubectl("delete", kind, name), Settle())]
    stripped = [Edit(f"{kind}s", name, STRIPPED) for kind, name in things]
    script = (*CREATED, *deleted, *(step for edit in stripped for step in (edit, Settle())))
    case(script, reference=waiting(case, CREATED, len(things) * 2 + 1))


SIDECAR = {"name": "proxy", "image": "registry.example/proxy:1"}
ADDED: dict[str, Any] = {
    "metadata": {"labels": {"other.example/team": "a"}, "annotations": {"other.example/note": "b"}},
    "spec": {
        "template": {
            "spec": {
                "containers": [{"name": "app", "env": [{"name": "INJECTED", "value": "1"}]}, SIDECAR],
            }
        }
    },
}
IDENTITY = {"apiVersion": "apps/v1", "kind": "Deployment"}


def injected() -> Kubectl:
    """Return the step in which an injector applies its fields to the Deployment."""
    thing = {**IDENTITY, **ADDED, "metadata": {"name": "web", **ADDED["metadata"]}}
    return kubectl("apply", "--server-side", "--field-manager=injector", "-f", "-", object=thing)


@pytest.mark.fault(
    "F13",
    "other managers' fields in a Deployment stay: a label, an annotation, an env variable, a sidecar",
    oracles=("O1", "O3", "O4", "O7"),
    broken="reads-modifies-writes",
)
def test_fields_of_others_stay(case: Case) -> None:
    drift = patch("deployment", "web", {"spec": {"replicas": 5}})
    again = patch("webapp", "web", {"spec": {"image": "registry.example/web:2"}})
    reference = case.reference((*CREATED, injected(), Settle(), Settle(), again, Settle()))
    # Drift only after the rollout is complete. Otherwise the old ReplicaSet keeps the drifted count in an annotation.
    played = case((*CREATED, injected(), Settle(), drift, Settle(), again, Settle()), reference=reference)
    assert played.evidence is not None
    metadata, spec = (child(played, "deployments")[part] for part in ("metadata", "spec"))
    app = next(found for found in spec["template"]["spec"]["containers"] if found["name"] == "app")
    containers = [found["name"] for found in spec["template"]["spec"]["containers"]]
    assert metadata["labels"]["other.example/team"] == "a"
    assert metadata["annotations"]["other.example/note"] == "b"
    assert "INJECTED" in [variable["name"] for variable in app["env"]]
    assert (app["image"], "proxy" in containers) == ("registry.example/web:2", True)


GROWING = (
    'oldObject != null && "app.kubernetes.io/name" in oldObject.metadata.labels'
    ' ? oldObject.metadata.labels["app.kubernetes.io/name"] + "x" : "x"'
)


@pytest.mark.fault(
    "F14",
    "a user and a sidecar injector co-own fields, and a mutating policy changes children at every write",
    oracles=("O3", "O4", "O6", "O7"),
    broken="repeats-applies-without-effect",
    by="O7",
)
@pytest.mark.ci
def test_co_owners_and_a_mutating_policy(case: Case) -> None:
    person = {**IDENTITY, "metadata": {"name": "web"}, "spec": {"replicas": 2, "revisionHistoryLimit": 5}}
    owned = kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=person", "-f", "-", object=person)
    again = patch("webapp", "web", {"spec": {"image": "registry.example/web:2"}})
    ready = kubectl("wait", "webapp/web", "--for=condition=Ready", "--timeout=60s")
    # No Settle, because the length of the label differs between runs.
    case((*relabelling(GROWING), *CREATE, ready, injected(), owned, ready, again, ready, Wait(table=30)))


OTHER = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["other"]}]}
ODD: dict[str, Any] = {
    **IDENTITY,
    "metadata": {"name": "web", "labels": {"coxswain.dev/webapp": "web"}},
    "spec": {
        "replicas": 0,
        "selector": OTHER,
        "template": {
            "metadata": {"labels": {"app": "other"}},
            "spec": {"containers": [{"name": "app", "image": "registry.example/web:1"}]},
        },
    },
}


@pytest.mark.fault(
    "F15",
    "an owned Deployment with another selector and foreign pods: reported, and left to a user",
    oracles=("O1", "O3", "O4", "O5", "O6", "O7"),
    broken="tries-again-what-is-refused",
    by="O7",
)
@pytest.mark.ci
def test_an_immutable_field_differs(case: Case) -> None:
    made = kubectl("apply", "--server-side", "--field-manager=coxswain", "-f", "-", object=ODD)
    stuck = case((made, *CREATED))
    assert stuck.evidence is not None
    (found,) = [thing for thing in stuck.evidence.end["webapps"] if thing["metadata"]["name"] == "web"]
    stalled = condition(found, "Stalled")
    assert stalled["status"] == "True", stalled
    assert "selector" in stalled["message"], stalled
    if not case.broken:
        # A user deletes it, because the operator never does. The end state then equals that without the object.
        removed = kubectl("delete", "deployment", "web")
        case(
            (
                made,
                *CREATE,
                kubectl("wait", "webapp/web", "--for=condition=Stalled", "--timeout=60s"),
                removed,
                Settle(),
            ),
            reference=case.reference(CREATED),
        )
