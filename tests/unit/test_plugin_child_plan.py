"""The plugin plans each child as the operator's `decide` does, with an empty memory."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from coxswain.kernel.objects.manifests import child_key, kind_and_name
from coxswain.kernel.reconciling.child.actions import (
    Apply,
    Create,
    Keep,
    Nothing,
    Release,
    Replace,
    TakeOwnership,
    Wait,
)
from coxswain.kernel.reconciling.child.decide import decide
from coxswain.kernel.reconciling.memory.memory import ChildMemory
from coxswain.kernel.reconciling.memory.write_wars import DeletionBrake, WriteWars
from coxswain.settings import Settings
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT
from kubectl_coxswain.child_plan import ChildPlan, child_plans, running
from kubectl_coxswain.kubectl import Kubectl
from kubectl_coxswain.snapshot import snapshot
from rendered import MODELLED
from unit.model_bench import ModelBench
from unit.plugin_bench import NOW, FakeKubectl, PluginBench
from unit.test_decide import OF_KIND, SPECS, take

WRITES = st.sampled_from(MODELLED).flatmap(
    lambda kind: st.tuples(st.sampled_from(["patch", "apply"]), st.just(kind), st.sampled_from(OF_KIND[kind]))
)
"""Writes of other clients to the children."""


def plans(model: ModelBench) -> dict[str, ChildPlan]:
    """Return the plugin's plans of all children by kind and name."""
    kubectl = Kubectl(FakeKubectl(model), namespace="shop")
    webapp = kubectl.get("/apis/coxswain.dev/v1/namespaces/shop/webapps/web")
    world = snapshot(kubectl, webapp, NOW)
    return {plan.object: plan for plan in child_plans(running(model.webapp, world), world)}


def agree(action: Any, plan: ChildPlan) -> bool:
    """Tell whether an action of the operator and a plan of the plugin are the same decision."""
    expected: dict[type, tuple[str, ...]] = {
        Create: ("Create",),
        Wait: ("Blocked",),
        Replace: ("Replace",),
        Nothing: ("None",),
        # The owner of a field may change without its value.
        Apply: ("Change", "Adopt", "None"),
        TakeOwnership: ("Change", "Adopt", "None"),
        Keep: ("Change", "Adopt", "None"),
        Release: ("Change", "Adopt", "None"),
    }
    same_fields = not isinstance(action, Apply | TakeOwnership | Keep) or plan.planned == action.plan
    return plan.action in expected[type(action)] and same_fields


@pytest.mark.thorough
def test_it_decides_as_the_operator_does() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=80, phases=(Phase.explicit, Phase.reuse, Phase.generate))
    @given(st.lists(WRITES, max_size=3), st.lists(WRITES, min_size=1, max_size=3), SPECS, SPECS)
    def compare(history: list[Any], last: list[Any], spec: dict[str, Any], change: dict[str, Any]) -> None:
        model = ModelBench(**{name: value for name, value in spec.items() if value is not None})
        model.reconcile()
        for step in (*history, ("reconcile", 0.5), ("spec", change), *last):
            take(model, step)
        model.observe_all()
        found = plans(model)
        for target in model.targets():
            if target.child_type.history is not None:
                continue
            plan = found[child_key(*kind_and_name(target.manifest))]
            if target.live is None and plan.live is not None:
                continue  # an object without our label, which the operator reads before it decides
            settings = Settings().write_war
            action = decide(replace(target, memory=ChildMemory(WriteWars(settings), DeletionBrake(settings))))
            seen[f"{type(action).__name__} {plan.action}"] += 1
            assert agree(action, plan), (action, plan)

    compare()
    assert {"Nothing None", "Create Create", "Apply Change"} <= seen.keys(), seen


def test_a_converged_webapp_has_no_plan() -> None:
    bench = PluginBench()
    bench.model.reconcile()
    assert {plan.action for plan in plans(bench.model).values()} == {"None"}


@pytest.mark.parametrize(("policy", "action"), [("Enforce", "Replace"), ("Yield", "Blocked")])
def test_a_child_whose_field_is_left_to_another_manager_is_not_replaced(policy: str, action: str) -> None:
    """Its replacement would have the desired value."""
    bench = PluginBench(conflicts={"rules": [{"kind": "ConfigMap", "path": "data", "policy": policy}]})
    bench.model.reconcile()
    [place] = [place for place in bench.model.objects() if place.startswith("ConfigMap/")]
    metadata = bench.model.objects()[place]["metadata"]
    bench.model.delete(CONFIG_MAP.path("shop", metadata["name"]))
    head = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"B": "9"}, "immutable": True}
    kept = {name: metadata[name] for name in ("name", "labels", "ownerReferences")}
    bench.model.post(CONFIG_MAP.path("shop"), {**head, "metadata": kept})
    bench.model.observe_all()
    assert plans(bench.model)[place].action == action


def test_drift_that_a_policy_does_not_correct_is_no_immutable_field() -> None:
    bench = PluginBench(conflicts={"policy": "Halt"})
    bench.model.reconcile()
    bench.model.patch(DEPLOYMENT.path("shop", "web"), {"spec": {"replicas": 7}})
    states = {each["object"]: each["state"] for each in bench.json("drift", "web")["children"]}
    assert states["Deployment/web"] == "Differs"
