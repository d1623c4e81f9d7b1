"""F16 and F20: name conflicts, and namespaces with restrictions."""

from typing import Any

import pytest

from fault_engine.lives import CREATE
from fault_engine.objects import Object, condition
from fault_engine.play import Played
from fault_engine.run import Case
from fault_engine.script import Kubectl, Operator, Probe, Script, Settle, Wait, apply, kubectl, patch
from faults.lives import SPEC, webapp
from faults.policies import denial, no_denial, service_probe

CREATED: Script = (*CREATE, Settle())
READY = kubectl("wait", "webapp/web", "--for=condition=Ready", "--timeout=60s")
LOOK_TIMEOUT_SECONDS = 120.0
"""For changes without an event: name conflicts are retried every minute (scaled), and at each resync."""

SELECTOR = {"matchLabels": {"app": "other"}}
TEMPLATE = {
    "metadata": {"labels": {"app": "other"}},
    "spec": {"containers": [{"name": "other", "image": "registry.example/other:1"}]},
}
FOREIGN: dict[str, dict[str, Any]] = {
    "serviceaccount": {"apiVersion": "v1", "kind": "ServiceAccount"},
    "service": {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 99}]}},
    "deployment": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE},
    },
}
"""Objects without a controller. tests/integration/test_name_conflicts.py covers controlled objects and ConfigMaps."""


def foreign(kind: str, name: str) -> Kubectl:
    """Return the step that creates a foreign object."""
    return apply({**FOREIGN[kind], "metadata": {"name": name}})


def labelled(played: Played, name: str) -> Object:
    assert played.evidence is not None
    return next(thing for thing in played.evidence.end["webapps"] if thing["metadata"]["name"] == name)


@pytest.mark.fault(
    "F16",
    "the name of each child is taken in advance by an object without a controller",
    oracles=("O1", "O3", "O4", "O5", "O6", "O7"),
    broken="adopts-by-name",
)
@pytest.mark.ci
def test_names_are_taken(case: Case) -> None:
    taken = [foreign(kind, f"web-{kind}") for kind in FOREIGN]
    made = [apply(webapp(SPEC, f"web-{kind}")) for kind in FOREIGN]
    changed = [patch("webapp", f"web-{kind}", {"spec": {"image": "registry.example/web:2"}}) for kind in FOREIGN]
    played = case((*taken, *made, Settle(), *changed, Settle()))
    for kind in FOREIGN:
        ready = condition(labelled(played, f"web-{kind}"), "Ready")
        assert ready["reason"] == "NameTaken", ready


@pytest.mark.fault(
    "F16",
    "the taken names become free: the next retry succeeds",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="never-looks-again",
)
def test_names_are_freed(case: Case) -> None:
    made: Script = tuple(apply(webapp(SPEC, f"web-{kind}")) for kind in FOREIGN)
    taken = [foreign(kind, f"web-{kind}") for kind in FOREIGN]
    stalled = kubectl(
        "wait", "webapp", *(f"web-{kind}" for kind in FOREIGN), "--for=condition=Stalled", "--timeout=60s"
    )
    freed = [kubectl("delete", kind, f"web-{kind}") for kind in FOREIGN]
    reference = case.reference((*made, Settle()))
    case((*taken, *made, stalled, *freed, Settle(LOOK_TIMEOUT_SECONDS)), reference=reference)


@pytest.mark.fault(
    "F16",
    "a child is deleted, and its name is taken before its recreation",
    oracles=("O1", "O3", "O4", "O5", "O6", "O7"),
    broken="adopts-by-name",
)
@pytest.mark.parametrize("kind", ["service"])
def test_the_name_of_a_deleted_child_is_taken(case: Case, kind: str) -> None:
    taken = foreign(kind, "web")
    case(
        (*CREATE, READY, Operator("pause"), kubectl("delete", kind, "web"), taken, Operator("resume"), Settle()),
        reference=case.reference((taken, *CREATED)),
    )


MESSAGE = "no Service of mine"
DENIED = Probe(service_probe(), MESSAGE)
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "nothing"},
    "spec": {"hard": {"count/services": "0"}},
}
LIMITS = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "small"},
    "spec": {"limits": [{"type": "Container", "max": {"memory": "1Mi"}, "default": {"memory": "1Mi"}}]},
}
DEMANDING = {**SPEC, "resources": {"limits": {"memory": "64Mi"}}}


def refused(case: Case, script: Script, text: str) -> None:
    """Play a script that ends with a refusal, and check that the status reports it."""
    played = case(script)
    ready = condition(labelled(played, "web"), "Ready")
    assert ready["status"] == "False", ready
    assert text in ready["message"], ready


@pytest.mark.fault(
    "F20",
    "an admission policy denies the Service: reported, and retried with backoff",
    oracles=("O1", "O3", "O4", "O5", "O6", "O7"),
    broken="tries-again-what-is-refused",
    by="O3",
)
@pytest.mark.ci
def test_a_policy_denies_a_child(case: Case) -> None:
    refused(case, (denial("services", "CREATE", MESSAGE), DENIED, *CREATED), MESSAGE)


@pytest.mark.fault(
    "F20",
    "a policy that denied the Service is removed: the next change of the WebApp creates it",
    oracles=("O1", "O3", "O4", "O5", "O6", "O7"),
    broken="hides-refusals",
    by="O5",
)
def test_a_policy_is_lifted(case: Case) -> None:
    stalled = kubectl("wait", "webapp/web", "--for=condition=Ready=False", "--timeout=60s")
    lifted = (no_denial("services"), Probe(service_probe(), MESSAGE, there=False))
    touched = patch("webapp", "web", {"spec": {"replicas": 1}})
    first = apply(webapp({**SPEC, "replicas": 3}))
    script = (denial("services", "CREATE", MESSAGE), DENIED, first, stalled, Wait(20), *lifted, touched, Settle())
    case(script, reference=case.reference((first, touched, Settle())))


@pytest.mark.fault(
    "F20",
    "a quota prevents the Service, and is then removed",
    oracles=("O1", "O3", "O4", "O5", "O6", "O7"),
    broken="retries-without-backoff",
    by="O7",
)
def test_a_quota_leaves_no_room(case: Case) -> None:
    counted = kubectl(
        "wait", "resourcequota/nothing", "--for=jsonpath={.status.hard.count/services}=0", "--timeout=60s"
    )
    reported = kubectl("wait", "webapp/web", "--for=jsonpath={.status.conditions[?(@.type=='Ready')].reason}=Forbidden")
    lifted = kubectl("delete", "resourcequota", "nothing")
    case(
        (apply(QUOTA), counted, *CREATE, reported, Wait(100), lifted, Settle()),
        reference=case.reference(CREATED),
    )


@pytest.mark.fault(
    "F20",
    "a LimitRange forbids the pods, in a namespace with Pod Security 'restricted'; after its removal they start",
    oracles=("O1", "O3", "O4", "O5", "O6", "O7"),
    broken="hides-refusals",
    by="O5",
)
def test_limits_forbid_the_pods(case: Case) -> None:
    restricted = kubectl("label", "namespace", "{namespace}", "pod-security.kubernetes.io/enforce=restricted")
    small = (restricted, apply(LIMITS), Probe(pod(), "maximum memory usage per Container is 1Mi"))
    made, lifted = apply(webapp(DEMANDING)), kubectl("delete", "limitrange", "small")
    played = case((*small, made, Wait(30), lifted, Settle(90)), reference=case.reference((made, Settle())))
    assert played.evidence is not None
    versions = [change.object for change in played.evidence.changes if change.resource == "webapps"]
    said = {condition(version, "Ready").get("message", "") for version in versions}
    assert any("maximum memory usage" in message for message in said), said


def pod() -> dict[str, Any]:
    """Return a pod for dry runs."""
    container = {
        "name": "probe",
        "image": "registry.example/probe:1",
        "resources": {"limits": {"memory": "64Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    security = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    spec = {"containers": [container], "securityContext": security}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": spec}
