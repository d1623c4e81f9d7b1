"""F1, F9, F13 and F27 with a child of each kind, and with the Gateway API. The cluster is not that of the other tests.

The garbage collector of a cluster waits for a deleted CRD, and would delay the other tests.
"""

import dataclasses
from collections.abc import Iterator

import pytest

from cluster import ControlPlane
from cluster.gateway_api import httproute_crd
from fault_engine.objects import condition
from fault_engine.plan import Action, Answer, Drop, Kill, Match, Rule
from fault_engine.play import Played
from fault_engine.run import Case, Surroundings
from fault_engine.scale import Scale
from fault_engine.script import Disaster, Inject, Lift, Operator, Script, Settle, inject
from fault_engine.workload import Workload
from faults import breaks
from faults.all_kinds import ACCEPTED, ASSIGNED, CHANGE, CREATE, CREATE_ROUTED, LOSE, NEW_KINDS, STEPS
from faults.conftest import LEFT_BEHIND
from faults.drifted_fields import drift_of_each_field
from faults.outages import SOON, print_recovery
from faults.test_outages import API_SERVER, out
from integration import gateways

ORACLES = ("O1", "O3", "O4", "O5", "O6", "O7")


@pytest.fixture(scope="module")
def cluster(workload: Workload) -> Iterator[ControlPlane]:
    """A control plane with the Gateway API."""
    with ControlPlane(manifests=[workload.crd, httproute_crd()]) as plane:
        workload.install(plane)
        yield plane


@pytest.fixture(scope="module")
def surroundings(cluster: ControlPlane, workload: Workload, request: pytest.FixtureRequest) -> Surroundings:
    """The shared state of the cases of this module."""
    scale = Scale(request.config.getoption("--time-scale"))
    return Surroundings(cluster, workload, LEFT_BEHIND, scale, breaks.known())


@pytest.fixture
def gateway_api(whole: ControlPlane) -> None:
    """Install the Gateway API, which another test may have removed."""
    gateways.install(whole)


def at_each_kind(action: Action) -> Inject:
    """Return the step that injects a fault at the first write of each new kind."""
    return inject(*(Rule(Match("create|patch", plural), action) for plural in NEW_KINDS))


def met(played: Played) -> list[set[str]]:
    """Return the resources with a fault, for each injected plan."""
    assert played.evidence is not None
    history = played.evidence.history
    begins = [mark.at for mark in history.marks if mark.what == "faults begin"]
    ends = [*begins[1:], float("inf")]
    return [
        {request.resource for request in history.requests if request.fault and begin <= request.at < end}
        for begin, end in zip(begins, ends, strict=True)
    ]


AT_EACH_STEP: dict[str, Action] = {
    "create": Kill(forwarded=False),
    "change": Kill(answered=True),
    "drift": Drop(answered=True),
    "lose": Answer(500),
}


@pytest.mark.usefixtures("gateway_api")
@pytest.mark.fault(
    "F1",
    "a child of each kind: killed before its creation, before the response to its change; the response to the"
    " correction of its drift lost, and its recreation refused once",
    oracles=("O2", *ORACLES),
    broken="forgets-at-restart",
)
def test_a_fault_at_the_write_of_each_kind(case: Case) -> None:
    script: Script = ()
    for step, commands in STEPS.items():
        script += (at_each_kind(AT_EACH_STEP[step]), *commands, Settle(90), Lift())
    found = met(case(script))
    without_revisions = {*NEW_KINDS} - {"controllerrevisions"}  # their drift is of the children only
    assert found == [{*NEW_KINDS}, {*NEW_KINDS}, without_revisions, {*NEW_KINDS}]


@pytest.mark.usefixtures("gateway_api")
@pytest.mark.fault(
    "F9",
    "a child of each kind: the API server is killed and restarted, and they are changed and deleted",
    oracles=ORACLES,
    broken="ends-without-a-connection",
)
def test_api_server_away(case: Case) -> None:
    away = out(API_SERVER, "kill", 30, "start")
    played = case((*STEPS["create"], Settle(), *away, CHANGE, *LOSE, *ASSIGNED, *ACCEPTED, SOON))
    print_recovery(played, "a child of each kind, without the API server")


@pytest.mark.usefixtures("gateway_api")
@pytest.mark.fault(
    "F13",
    "each field that the operator owns in an Ingress or an HTTPRoute is changed or removed, alone and all at once",
    oracles=("O1", "O3", "O4", "O7"),
    broken="sees-no-drift",
)
@pytest.mark.parametrize("operation", ["replace", "remove"])
@pytest.mark.parametrize("resource", ["ingresses", "httproutes"])
def test_each_field_changed(case: Case, resource: str, operation: str) -> None:
    drift_of_each_field(case, resource, (*CREATE_ROUTED, Settle()), operation, least=7)


SERVED, NOT_SERVED = Disaster("install the Gateway API"), Disaster("remove the Gateway API")
WITHOUT: Script = (CREATE, *ASSIGNED, Settle())
WITH: Script = (CREATE, *ASSIGNED, *ACCEPTED, Settle())
FIRST_ROUTE = inject(Rule(Match("create|patch", "httproutes"), Kill(answered=True)))


def reference(case: Case, cluster: ControlPlane) -> Played:
    """Return the run with HTTPRoutes from its start, with the states of a script in which they come, go and come.

    The cluster does not serve HTTPRoutes afterwards.
    """
    gateways.install(cluster)
    served = case.reference(WITH)
    gateways.uninstall(cluster)
    [absent] = case.reference(WITHOUT).states
    [present] = served.states
    return dataclasses.replace(served, states=[absent, present, absent, present])


@pytest.mark.parametrize(
    ("coming", "coming_again"),
    [
        pytest.param(
            (SERVED,),
            (SERVED,),
            id="the operator runs",
            marks=pytest.mark.fault(
                "F27",
                "the CRD of HTTPRoutes is installed, deleted, and installed again",
                oracles=ORACLES,
                broken="ignores-new-kinds",
            ),
        ),
        pytest.param(
            (Operator("kill"), SERVED, Operator("start")),
            (FIRST_ROUTE, SERVED),
            id="the operator is killed",
            marks=pytest.mark.fault(
                "F27",
                "the CRD of HTTPRoutes is installed while the operator is down, deleted, and installed again: killed"
                " before the response to the first HTTPRoute",
                oracles=ORACLES,
                broken="trusts-former-kinds",
            ),
        ),
    ],
)
def test_an_optional_kind_comes_and_goes(case: Case, whole: ControlPlane, coming: Script, coming_again: Script) -> None:
    expected = reference(case, whole)
    come_and_gone: Script = (*WITHOUT, *coming, *ACCEPTED, SOON, NOT_SERVED, SOON)
    played = case((*come_and_gone, *coming_again, *ACCEPTED, SOON, Lift()), reference=expected)
    assert played.evidence is not None
    versions = [change.object for change in played.evidence.changes if change.resource == "webapps"]
    reasons = {condition(each, "Ready").get("reason") for each in versions if each["metadata"]["name"] == "web"}
    assert "APIMissing" in reasons
    print("HTTPRoutes came, went and came: recovered in", ", ".join(f"{each:.1f} s" for each in played.recoveries))
