"""F13, unions and merge keys: an apply alone cannot correct them, because the other manager's value stays."""

import pytest

from fault_engine.lives import CREATE
from fault_engine.plan import Delay, Match, Rule
from fault_engine.run import Case
from fault_engine.script import Edit, Lift, Script, Settle, Wait, apply, inject, kubectl
from fault_engine.switches import steps, switches
from fault_engine.watching import UNTIL_LIFTED
from faults.drifted_fields import child, waiting
from faults.lives import webapp
from faults.pod_bases import pod_bases
from faults.test_co_writers import FULL

RECREATED = {**FULL, "rollout": {"strategy": "Recreate"}}


@pytest.mark.fault(
    "F13",
    "each union of a child switched, each merge key changed: probe handlers, strategy both ways, value and valueFrom, "
    "the source of valueFrom, the source of a volume, numbers and protocols of ports, names",
    oracles=("O1", "O3", "O4", "O6", "O7"),
    broken="keeps-rival-members",
)
@pytest.mark.parametrize(
    ("resource", "spec", "least"),
    [
        pytest.param("services", FULL, 4, id="services", marks=pytest.mark.ci),
        pytest.param("deployments", FULL, 20, id="deployments"),
        pytest.param("deployments", pod_bases()[0], 120, id="pods"),
        pytest.param("deployments", RECREATED, 1, id="a strategy of Recreate"),
    ],
)
def test_each_union_switched(case: Case, resource: str, spec: dict[str, object], least: int) -> None:
    created: Script = (apply(webapp(spec)), Settle())
    found = switches(child(case.reference(created), resource), case.workload)
    if spec is RECREATED:
        found = [switch for switch in found if switch.path.startswith("spec.strategy")]
    played = case(
        (*created, *(step for switch in found for step in steps(resource, "web", switch))),
        reference=waiting(case, created, len(found) + 1),
    )
    print(f"{resource}: {len(found)} switches, {len(played.refused)} refused by the API server")
    for refusal in played.refused.values():
        print(f"  refused: {refusal[:200]}")
    assert len(found) >= least, f"only {len(found)} switches were tried"
    assert len(found) - len(played.refused) >= least / 2, f"{len(played.refused)} of {len(found)} were refused"


LABEL = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "labels": {"other.example/team": "a"}}}
INJECTED = kubectl("apply", "--server-side", "--field-manager=injector", "-f", "-", object=LABEL)


@pytest.mark.fault(
    "F13",
    "a merge key changed, and another manager applies a field during the patch of managedFields: it keeps the field",
    oracles=("O1", "O3", "O4", "O6", "O7"),
    broken="patches-managed-fields-blindly",
)
@pytest.mark.ci
def test_managed_fields_change_meanwhile(case: Case) -> None:
    created: Script = (*CREATE, Settle())
    slow = inject(Rule(Match("patch", "services", "web"), Delay(UNTIL_LIFTED)))
    reference = waiting(case, (*created, INJECTED, Settle()), 2)
    renumbered = Edit("services", "web", [{"op": "replace", "path": "/spec/ports/0/port", "value": 81}], "json")
    played = case((*created, slow, renumbered, Wait(table=15), INJECTED, Lift(), Settle()), reference=reference)
    assert played.evidence is not None
    assert any(request.fault for request in played.evidence.history.writes()), "no write was delayed"
