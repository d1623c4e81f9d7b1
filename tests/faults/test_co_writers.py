"""F12 to F15: others who write to a WebApp and to its children at the same time."""

import dataclasses
from typing import Any

import pytest

from faults.drift import edit as edited_field
from faults.drift import places
from faults.evidence import Object, condition
from faults.lives import CREATE, webapp
from faults.play import Played
from faults.policies import relabelling
from faults.run import Case
from faults.script import Edit, Kubectl, Script, Settle, Storm, Wait, apply, kubectl, patch
from faults.walk import everything

CREATED: Script = (*CREATE, Settle())
USER = "kubectl-client-side-apply"
"""The manager of the user's own fields: written by it, they are nobody else's afterwards."""


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
"""After which the WebApp is written no more: a change of that would have the Deployment applied, drift or not."""


@pytest.mark.fault(
    "F12",
    "four writers at the same time: the labels, annotations and spec of a WebApp, and a field of its Deployment",
    oracles=("O1", "O3", "O4", "O7"),
    broken="sees-no-drift",
)
@pytest.mark.ci
def test_storm(case: Case) -> None:
    played = case((*CREATED, STORM, LAST, Settle()), reference=waiting(case, CREATED, 2))
    print(*played.told, sep="\n")


def waiting(case: Case, script: Script, settles: int) -> Played:
    """Return a reference that stays at its end for so many settlings, while others do what must leave no trace."""
    reference = case.reference(script)
    states = [*reference.states, *[reference.states[-1]] * (settles - len(reference.states))]
    return dataclasses.replace(reference, states=states)


FULL = {key: value for key, value in everything().items() if key not in ("priorityClassName", "nodeSelector")}
FULL_CREATED: Script = (apply(webapp(FULL)), Settle())


def child(reference: Played, resource: str) -> Object:
    assert reference.evidence is not None
    (found,) = [
        thing
        for thing in reference.evidence.end[resource]
        if thing["metadata"].get("labels", {}).get("coxswain.dev/webapp") == "web"
    ]
    return found


@pytest.mark.fault(
    "F13",
    "each field that the operator has set in a child given another value, or removed; and all at once",
    oracles=("O1", "O3", "O4", "O7"),
    broken="sees-no-drift",
)
@pytest.mark.parametrize("operation", ["replace", "remove"])
@pytest.mark.parametrize(
    "resource", ["serviceaccounts", "configmaps", pytest.param("services", marks=pytest.mark.ci), "deployments"]
)
def test_each_field_changed(case: Case, resource: str, operation: str) -> None:
    reference = case.reference(FULL_CREATED)
    found = places(child(reference, resource))
    tried = [place for place in found if not place.skipped]
    singles = [edited_field(resource, child(reference, resource), place, operation) for place in tried]
    script = (*FULL_CREATED, *(step for edit in singles for step in (edit, Settle())))
    played = case(script, reference=waiting(case, FULL_CREATED, len(singles) + 1))
    refused = {(number - len(FULL_CREATED) - 1) // 2 for number in played.refused}
    print(f"{resource}: {operation} {len(tried)} fields, of which the API server refused {len(refused)}")
    for place in found:
        if place.skipped:
            print(f"  not tried: {place.path}: {place.skipped}")
    for number in sorted(refused):
        print(f"  refused: {operation} {tried[number].path}")
    assert len(tried) - len(refused) >= CHANGED[resource], f"{len(refused)} of {len(tried)} edits were refused"
    changes = [edit.patch[0] for number, edit in enumerate(singles) if number not in refused]
    if operation == "replace":
        together = Edit(resource, singles[0].name, changes, "json")
        case((*FULL_CREATED, together, Settle()), reference=waiting(case, FULL_CREATED, 2))


CHANGED = {"serviceaccounts": 3, "configmaps": 3, "services": 6, "deployments": 30}
"""How many edits come about at least. The API server refuses some: the data of a ConfigMap of ours is immutable, and
what is required can't be removed. The labels alone are four."""

REFERENCES = ("serviceaccount/web", "service/web", "deployment/web")
STRIPPED: dict[str, Any] = {"metadata": {"ownerReferences": None, "labels": None}}


@pytest.mark.fault(
    "F13",
    "each child deleted; its owner reference and labels stripped",
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
    """Return the step in which an injector applies what it adds to the Deployment."""
    thing = {**IDENTITY, **ADDED, "metadata": {"name": "web", **ADDED["metadata"]}}
    return kubectl("apply", "--server-side", "--field-manager=injector", "-f", "-", object=thing)


@pytest.mark.fault(
    "F13",
    "fields of others added to a Deployment stay: a label, an annotation, an env variable, a sidecar",
    oracles=("O1", "O3", "O4", "O7"),
    broken="reads-modifies-writes",
)
def test_fields_of_others_stay(case: Case) -> None:
    drift = patch("deployment", "web", {"spec": {"replicas": 5}})
    again = patch("webapp", "web", {"spec": {"image": "registry.example/web:2"}})
    reference = case.reference((*CREATED, injected(), Settle(), Settle(), again, Settle()))
    # No drift before the rollout is complete: the old ReplicaSet would keep the drifted count in an annotation.
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
    "a person and a sidecar injector own fields too, and a policy changes children at every write",
    oracles=("O3", "O4", "O6", "O7"),
    broken="fights-a-policy",
    by="O7",
)
@pytest.mark.ci
def test_co_owners_and_a_mutating_policy(case: Case) -> None:
    person = {**IDENTITY, "metadata": {"name": "web"}, "spec": {"replicas": 2, "revisionHistoryLimit": 5}}
    owned = kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=person", "-f", "-", object=person)
    again = patch("webapp", "web", {"spec": {"image": "registry.example/web:2"}})
    ready = kubectl("wait", "webapp/web", "--for=condition=Ready", "--timeout=60s")
    # No step that settles: how long the label has grown is not the same in any two runs.
    case((*relabelling(GROWING), *CREATE, ready, injected(), owned, ready, again, ready, Wait(table=30)))


OTHER = {"matchLabels": {"app": "other"}}
ODD: dict[str, Any] = {
    **IDENTITY,
    "metadata": {"name": "web", "labels": {"coxswain.dev/webapp": "web"}},
    "spec": {
        "replicas": 0,
        "selector": OTHER,
        "template": {
            "metadata": {"labels": OTHER["matchLabels"]},
            "spec": {"containers": [{"name": "app", "image": "registry.example/web:1"}]},
        },
    },
}


@pytest.mark.fault(
    "F15",
    "a Deployment of ours whose selector and pods are another's: it is told of, and is left to a person",
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
        # A person deletes it, which the operator never does: then all is as if it had never been.
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
