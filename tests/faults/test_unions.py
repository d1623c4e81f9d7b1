"""F13, unions and merge keys: what an apply alone can't put right, since what another manager has set stays."""

import pytest

from faults.lives import CREATE, webapp
from faults.plan import Delay, Match, Rule
from faults.run import Case
from faults.script import Edit, Lift, Script, Settle, Wait, apply, inject, kubectl
from faults.switches import steps, switches
from faults.test_co_writers import FULL, child, waiting
from faults.watching import UNTIL_LIFTED

RECREATED = {**FULL, "rollout": {"strategy": "Recreate"}}


@pytest.mark.fault(
    "F13",
    "each union of a child switched, each merge key changed: probe handlers, strategy both ways, value and valueFrom, "
    "what valueFrom refers to, a volume's source, numbers and protocols of ports, names",
    oracles=("O1", "O3", "O4", "O6", "O7"),
    broken="takes-no-rivals",
)
@pytest.mark.parametrize(
    ("resource", "spec", "least"),
    [
        pytest.param("services", FULL, 4, id="services", marks=pytest.mark.ci),
        pytest.param("deployments", FULL, 20, id="deployments"),
        pytest.param("deployments", RECREATED, 1, id="a strategy of Recreate"),
    ],
)
def test_each_union_switched(case: Case, resource: str, spec: dict[str, object], least: int) -> None:
    created: Script = (apply(webapp(spec)), Settle())
    found = switches(child(case.reference(created), resource))
    if spec is RECREATED:
        found = [switch for switch in found if switch.path.startswith("spec.strategy")]
    played = case(
        (*created, *(step for switch in found for step in steps(resource, "web", switch))),
        reference=waiting(case, created, len(found) + 1),
    )
    print(f"{resource}: {len(found)} switches, of which the API server refused {len(played.refused)}")
    for refusal in played.refused.values():
        print(f"  refused: {refusal[:200]}")
    assert len(found) >= least, f"only {len(found)} switches were tried"
    assert len(found) - len(played.refused) >= least / 2, f"{len(played.refused)} of {len(found)} were refused"


LABEL = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "labels": {"other.example/team": "a"}}}
INJECTED = kubectl("apply", "--server-side", "--field-manager=injector", "-f", "-", object=LABEL)


@pytest.mark.fault(
    "F13",
    "a merge key changed, and while managedFields are on their way another manager applies a field: it stays its own",
    oracles=("O1", "O3", "O4", "O6", "O7"),
    broken="takes-over-blindly",
)
@pytest.mark.ci
def test_managed_fields_change_meanwhile(case: Case) -> None:
    created: Script = (*CREATE, Settle())
    slow = inject(Rule(Match("patch", "services", "web"), Delay(UNTIL_LIFTED)))
    reference = waiting(case, (*created, INJECTED, Settle()), 2)
    renumbered = Edit("services", "web", [{"op": "replace", "path": "/spec/ports/0/port", "value": 81}], "json")
    played = case((*created, slow, renumbered, Wait(table=15), INJECTED, Lift(), Settle()), reference=reference)
    assert played.evidence is not None
    assert any(request.fault for request in played.evidence.history.writes()), "no write was slow"
