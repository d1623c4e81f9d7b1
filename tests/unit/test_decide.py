"""Properties of every decision: it comes to rest, spares foreign objects, and each wait has an end."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from coxswain.kernel.reconciling.actions import Ends, Nothing, Wait
from coxswain.kernel.reconciling.adoption import is_watched
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT, SERVICE, SERVICE_ACCOUNT, WEBAPP
from rendered import CHILDREN
from unit.model_bench import ModelBench

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
}
OF_KIND = {
    DEPLOYMENT: ("label", "foreign label", "our label", "owner", "annotation", "adopt", "replicas", "strategy"),
    SERVICE: ("label", "foreign label", "our label", "owner", "annotation", "adopt", "selector", "affinity"),
    SERVICE_ACCOUNT: ("label", "foreign label", "our label", "owner", "annotation", "adopt"),
    CONFIG_MAP: ("label", "foreign label", "our label", "owner", "annotation", "adopt"),
}
POLICIES = st.sampled_from(["Enforce", "Yield", "Halt"])
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "image": st.sampled_from(["registry.example/web:1", "registry.example/web:2"]),
        "replicas": st.integers(0, 3),
        "labels": st.sampled_from([{"team": "red"}, {"team": "green"}, {}]),
        "config": st.sampled_from([{"B": "2"}, {"C": "3"}, {}]),
        "conflicts": st.fixed_dictionaries({"policy": POLICIES}),
    },
)


@st.composite
def steps(draw: st.DrawFn) -> Any:
    """One step of another client, or a reconcile, or time that passes."""
    what = draw(st.sampled_from(["patch", "patch", "apply", "delete", "spec", "reconcile", "reconcile", "time"]))
    if what in ("patch", "apply"):
        kind = draw(st.sampled_from(CHILDREN))
        return what, kind, draw(st.sampled_from(OF_KIND[kind]))
    if what == "delete":
        return what, draw(st.sampled_from(CHILDREN))
    return (what, draw(SPECS)) if what == "spec" else (what, draw(st.sampled_from([0.5, 61.0, 700.0])))


def take(bench: ModelBench, step: Any) -> None:
    """Take one step."""
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
    """Return a manifest with a patch in it; fields that the patch removes are left out."""
    return {
        **one,
        **{k: merged(one.get(k, {}), v) if isinstance(v, dict) else v for k, v in other.items() if v is not None},
    }


def foreign(bench: ModelBench) -> dict[str, Any]:
    """Objects that are neither children of the WebApp nor may be adopted."""
    found = {}
    for name, item in bench.objects().items():
        kind = next(kind for kind in CHILDREN if kind.kind == name.partition("/")[0])
        projection = bench.project(kind, item)
        if not projection.is_child_of(bench.webapp) and not projection.is_adoptable_by(bench.webapp):
            found[name] = copy.deepcopy(item)
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(steps(), max_size=12))
def test_after_a_reconcile_or_two_nothing_is_left_to_decide(history: list[Any]) -> None:
    bench = ModelBench()
    for step in history:
        take(bench, step)
    for _ in range(4):
        bench.now += 700
        bench.reconcile()
    left = [action for _, action in bench.decisions()]
    assert [action for action in left if not isinstance(action, Nothing | Wait)] == []
    before = bench.objects()
    bench.reconcile()
    assert bench.objects() == before, "and nothing is written"


FOREIGN_SPECS: dict[Any, Any] = {
    DEPLOYMENT: {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "x", "image": "x"}]}},
    },
    SERVICE: {"ports": [{"port": 80, "protocol": "TCP"}]},
}


def take_name(bench: ModelBench, kind: Any, *, labelled: bool) -> None:
    """Give the name of a child to an object of another client."""
    labels = {"coxswain.dev/webapp": "web"} if labelled else {}
    name = next(target.manifest["metadata"]["name"] for target in bench.targets() if target.child_type.kind is kind)
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, "labels": labels}}
    bench.post(kind.path("shop"), {**body, **({"spec": FOREIGN_SPECS[kind]} if kind in FOREIGN_SPECS else {})})
    bench.observe_all()


@settings(max_examples=60, deadline=None)
@given(st.lists(steps(), max_size=8), st.sampled_from(CHILDREN), st.booleans())
def test_no_action_writes_to_a_foreign_object(history: list[Any], kind: Any, labelled: bool) -> None:
    bench = ModelBench()
    take_name(bench, kind, labelled=labelled)
    for step in [*history, ("reconcile", 0)]:
        before = foreign(bench)
        take(bench, step)
        if step[0] in ("reconcile", "time"):
            assert {name: bench.objects().get(name) for name in before} == before


@settings(max_examples=60, deadline=None)
@given(st.lists(steps(), max_size=8), st.sampled_from([*CHILDREN, None]), st.booleans())
def test_each_wait_names_a_time_to_come_or_an_event_that_a_watch_reports(
    history: list[Any], taken: Any, labelled: bool
) -> None:
    bench = ModelBench()
    if taken is not None:
        take_name(bench, taken, labelled=labelled)
    for step in [*history, ("reconcile", 0)]:
        take(bench, step)
        for target, action in bench.decisions():
            if not isinstance(action, Wait):
                continue
            if isinstance(action.until, float):
                assert action.until >= bench.now
            elif action.until is Ends.CHILD_EVENT:
                assert target.live is not None
                assert is_watched(target.parent, target.live)
            elif action.until is Ends.CHANGE_OR_RESYNC:
                assert target.memory.attempt is not None
