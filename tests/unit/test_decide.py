"""Properties of every decision: it converges, it never writes to foreign objects, and each wait has an end."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coxswain.kernel.reconciling.child.actions import Ends, Nothing, Wait
from coxswain.webapp.kinds import (
    CONFIG_MAP,
    CONTROLLER_REVISION,
    DEPLOYMENT,
    HORIZONTAL_POD_AUTOSCALER,
    NETWORK_POLICY,
    POD_DISRUPTION_BUDGET,
    SERVICE,
    SERVICE_ACCOUNT,
    WEBAPP,
)
from rendered import MODELLED
from unit.model_bench import ModelBench

pytestmark = pytest.mark.model

WRITES: dict[str, Any] = {
    "label": {"metadata": {"labels": {"team": "blue"}}},
    "foreign label": {"metadata": {"labels": {"theirs": "1"}}},
    "our label": {"metadata": {"labels": {"coxswain.dev/webapp": None}}},
    "owner": {"metadata": {"ownerReferences": []}},
    "annotation": {"metadata": {"annotations": {"theirs": "1"}}},
    "adopt": {"metadata": {"annotations": {"coxswain.dev/adopt": "web"}}},
    "replicas": {"spec": {"replicas": 3}},
    "strategy": {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}},
    "selector": {"spec": {"selector": {"app": "other"}}},
    "affinity": {"spec": {"sessionAffinity": "ClientIP"}},
    "budget": {"spec": {"minAvailable": 1, "maxUnavailable": None}},
    "closed": {"spec": {"ingress": None}},
    "most": {"spec": {"maxReplicas": 9}},
    "number": {"revision": 99},
    "data": {"data": {"spec": {"image": "other"}}},
    "target": {"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}}},
}
OF_KIND = {
    DEPLOYMENT: ("label", "foreign label", "our label", "owner", "annotation", "adopt", "replicas", "strategy"),
    SERVICE: ("label", "foreign label", "our label", "owner", "annotation", "adopt", "selector", "affinity"),
    SERVICE_ACCOUNT: ("label", "foreign label", "our label", "owner", "annotation", "adopt"),
    CONFIG_MAP: ("label", "foreign label", "our label", "owner", "annotation", "adopt"),
    CONTROLLER_REVISION: ("label", "our label", "owner", "adopt", "number", "data"),
    NETWORK_POLICY: ("label", "our label", "owner", "adopt", "closed"),
    POD_DISRUPTION_BUDGET: ("label", "our label", "owner", "adopt", "budget"),
    HORIZONTAL_POD_AUTOSCALER: ("label", "our label", "owner", "adopt", "most", "target"),
}
GUARDED = {"autoscaling": {"minReplicas": 2, "maxReplicas": 3}, "network": {"ingress": [{"ports": [{"port": 80}]}]}}
POLICIES = st.sampled_from(["Enforce", "Yield", "Halt"])
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "image": st.sampled_from(["registry.example/web:1", "registry.example/web:2"]),
        "replicas": st.integers(0, 3),
        "labels": st.sampled_from([{"team": "red"}, {"team": "green"}, {}]),
        "config": st.sampled_from([{"B": "2"}, {"C": "3"}, {}]),
        "autoscaling": st.sampled_from([{"maxReplicas": 3}, {"minReplicas": 2, "maxReplicas": 4}, None]),
        "network": st.sampled_from([{"ingress": []}, {"defaultDeny": True}, None]),
        "disruption": st.sampled_from([{"minAvailable": 1}, {"enabled": True}, {"enabled": False}, None]),
        "conflicts": st.fixed_dictionaries({"policy": POLICIES}),
    },
)


@st.composite
def steps(draw: st.DrawFn) -> Any:
    """Draw one step: a write of another client, a reconcile, or a passage of time."""
    what = draw(st.sampled_from(["patch", "patch", "apply", "delete", "spec", "reconcile", "reconcile", "time"]))
    if what in ("patch", "apply"):
        kind = draw(st.sampled_from(MODELLED))
        return what, kind, draw(st.sampled_from(OF_KIND[kind]))
    if what == "delete":
        return what, draw(st.sampled_from(MODELLED))
    return (what, draw(SPECS)) if what == "spec" else (what, draw(st.sampled_from([0.5, 61.0, 700.0])))


def take(bench: ModelBench, step: Any) -> None:
    """Perform one step."""
    what, first, *rest = step
    if what == "reconcile":
        bench.reconcile()
    elif what == "time":
        bench.now += first
    elif what == "spec":
        bench.patch(WEBAPP.path("shop", "web"), {"spec": first})
    else:
        for name in [name.partition("/")[2] for name in bench.objects() if name.startswith(f"{first}/")]:
            path = first.path("shop", name)
            if what == "delete":
                bench.delete(path)
            elif what == "patch":
                bench.patch(path, WRITES[rest[0]])
            else:
                identity = {"apiVersion": first.api_version, "kind": first.kind, "metadata": {"name": name}}
                bench.apply(path, merged(identity, WRITES[rest[0]]))
    bench.observe_all()


def merged(one: Any, other: Any) -> Any:
    """Return a manifest with a patch merged into it, without the fields removed by the patch."""
    return {
        **one,
        **{k: merged(one.get(k, {}), v) if isinstance(v, dict) else v for k, v in other.items() if v is not None},
    }


def foreign(bench: ModelBench) -> dict[str, Any]:
    """Return the objects that are neither children of the WebApp nor adoptable."""
    found = {}
    for name, item in bench.objects().items():
        kind = next(kind for kind in MODELLED if kind.kind == name.partition("/")[0])
        projection = bench.project(kind, item)
        if not projection.is_child_of(bench.webapp) and not projection.is_adoptable_by(bench.webapp):
            found[name] = copy.deepcopy(item)
    return found


def test_a_halted_child_without_our_label_is_retried_by_time() -> None:
    """No watch reports it. Before the fix, the operator tried to create it again and again in vain."""
    bench = ModelBench()
    bench.reconcile()
    for step in (
        ("spec", {"conflicts": {"policy": "Halt"}}),
        ("reconcile", 0.5),
        ("patch", SERVICE, "label"),
        ("patch", SERVICE, "our label"),
        ("reconcile", 0.5),
    ):
        take(bench, step)
    [wait] = [action for _, action in bench.decisions() if not isinstance(action, Nothing)]
    assert isinstance(wait, Wait)
    assert wait.health.reason == "Halted"
    assert wait.until is Ends.NEXT_READ


FOREIGN_SPECS: dict[Any, Any] = {
    DEPLOYMENT: {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "x", "image": "x"}]}},
    },
    SERVICE: {"ports": [{"port": 80, "protocol": "TCP"}]},
    NETWORK_POLICY: {"podSelector": {}, "policyTypes": ["Ingress"]},
    POD_DISRUPTION_BUDGET: {"selector": {"matchLabels": {"a": "b"}}, "maxUnavailable": 1},
    HORIZONTAL_POD_AUTOSCALER: {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"},
        "maxReplicas": 2,
    },
}


def take_name(bench: ModelBench, kind: Any, *, labelled: bool) -> None:
    """Give the name of a child to an object of another client."""
    labels = {"coxswain.dev/webapp": "web"} if labelled else {}
    name = next(target.manifest["metadata"]["name"] for target in bench.targets() if target.child_type.kind is kind)
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, "labels": labels}}
    bench.post(kind.path("shop"), {**body, **({"spec": FOREIGN_SPECS[kind]} if kind in FOREIGN_SPECS else {})})
    bench.observe_all()


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(st.lists(steps(), max_size=12), st.none() | st.sampled_from(MODELLED), st.booleans())
def test_decisions_leave_foreign_objects_alone_bound_each_wait_and_converge(
    history: list[Any], taken: Any, labelled: bool
) -> None:
    """The three properties share the histories: the model API server takes most of the time."""
    bench = ModelBench(**GUARDED)
    if taken is not None:
        take_name(bench, taken, labelled=labelled)
    for step in [*history, ("reconcile", 0)]:
        before = foreign(bench) if step[0] in ("reconcile", "time") else {}
        take(bench, step)
        assert {name: bench.objects().get(name) for name in before} == before, "no foreign object is written"
        each_wait_ends(bench)
    for _ in range(4):
        bench.now += 700
        bench.reconcile()
    left = [action for _, action in bench.decisions()]
    assert [action for action in left if not isinstance(action, Nothing | Wait)] == []
    objects = bench.objects()
    bench.reconcile()
    assert bench.objects() == objects, "a further reconcile writes nothing"


def each_wait_ends(bench: ModelBench) -> None:
    """Assert that each wait names a time to come, or an event that a watch reports."""
    for target, action in bench.decisions():
        if not isinstance(action, Wait):
            continue
        if isinstance(action.until, float):
            assert action.until >= bench.now
        elif action.until is Ends.CHILD_EVENT:
            assert target.live is not None
            assert target.live.is_watched
        elif action.until is Ends.NEXT_READ:
            assert target.memory.unwatched.observed is not None
            assert target.memory.unwatched.until > bench.now
        elif action.until is Ends.DEPENDENCY_EVENT:
            awaited = target.desired.withheld if target.live is None else target.adoptable_when
            assert awaited is not None
        else:
            assert action.until is Ends.CHANGE_OR_RESYNC
            assert target.memory.attempt is not None
