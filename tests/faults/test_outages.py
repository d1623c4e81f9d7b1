"""F8, F9, F23, F24: a control plane that is overloaded, down, frozen, restored from a backup, or without the CRD."""

from collections.abc import Iterator

import pytest

from fault_engine.history import Request
from fault_engine.lives import CHANGE, CREATE
from fault_engine.plan import Answer, Match, Rule, Stream
from fault_engine.play import Played, canary
from fault_engine.run import Case
from fault_engine.script import (
    Disaster,
    Edit,
    Life,
    Lift,
    Operator,
    Program,
    Script,
    Settle,
    Storm,
    Wait,
    inject,
    kubectl,
)
from faults.outages import CHILD_DELETED, CUT, SOON, begun, print_recovery

pytestmark = [pytest.mark.usefixtures("whole"), pytest.mark.generic]

API_SERVER = "kube-apiserver"
LOST = Life("lose")
CLIENTS = ("kube-controller-manager", "kube-scheduler", "kwok")
FOLLOWED = kubectl("wait", "{parents}/web", "--for=jsonpath={.status.observedGeneration}=2", "--timeout=30s")
MANY_REVISIONS: Script = (
    kubectl("create", "configmap", "notes"),
    Storm(
        tuple(
            tuple(Edit("configmaps", "notes", {"data": {f"writer-{each}": value}}) for value in ("a", "b"))
            for each in range(4)
        ),
        table=0,
        rounds=150,
    ),
)
"""1,200 writes. The writes after a restore of etcd must not reach their resourceVersions in the time of a test."""
NO_WATCH: Script = (inject(Rule(Match("watch", count=None), Answer(503))), CUT)
"""An operator whose watches reopen at the current state misses only what is deleted while it has no watch."""
EXPIRED = {"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410}}


def out(name: str, begin: str, seconds: float, end: str) -> Script:
    """Return steps with an outage of one program.

    The control plane's own clients are paused. In an outage they reduce their attempts to one a minute, and the
    recovery time would be theirs instead of the operator's.
    """
    still = tuple(Program(client, "pause") for client in CLIENTS)
    on = tuple(Program(client, "resume") for client in CLIENTS)
    return (*still, Program(name, begin), Wait(table=seconds), Program(name, end), *on)  # type: ignore[arg-type]


def refused(played: Played) -> Iterator[Request]:
    """Yield the requests that got a 429."""
    assert played.evidence is not None
    return (request for request in played.evidence.history.requests if request.status == 429)


@pytest.mark.fault(
    "F8",
    "429 with Retry-After to all requests for two minutes",
    oracles=("O1", "O3", "O4", "O7"),
    broken="retry-after-ignored",
    by="O7",
)
@pytest.mark.parametrize(("seconds", "least"), [pytest.param(1, 1, marks=pytest.mark.ci), (5, 2), (30, 3)])
def test_throttled(case: Case, seconds: int, least: int) -> None:
    # Retry-After has whole seconds. `least` keeps the three values different at each scale.
    answer = Answer(429, retry_after=max(least, round(case.scale.seconds(seconds))))
    everything = inject(Rule(Match(count=None), answer))
    played = case(begun(everything, CHANGE, CHILD_DELETED, CUT, Wait(table=120), Lift(), SOON))
    assert {request.agent for request in refused(played)} == {case.workload.agent, case.workload.watch_agent}
    print_recovery(played, f"429 with Retry-After {seconds}")


@pytest.mark.fault(
    "F8",
    "429 with Retry-After to each LIST for two minutes, after the watches expired",
    oracles=("O1", "O3", "O4", "O7"),
    broken="no-relist-after-a-restarted-watch",
)
def test_lists_throttled(case: Case) -> None:
    answer = Answer(429, retry_after=max(1, round(case.scale.seconds(30))))
    rules = inject(
        Rule(Match("list", count=None), answer),
        Rule(Match("watch", "{parents}|{child}"), Stream(inject=(EXPIRED,), then="close")),
    )
    played = case(begun(rules, CUT, CHANGE, CHILD_DELETED, Wait(table=120), Lift(), SOON))
    assert {request.verb for request in refused(played)} == {"list"}
    print_recovery(played, "429 to each LIST")


@pytest.mark.fault(
    "F9",
    "the API server is killed and restarted after a given time",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="ends-without-a-connection",
)
@pytest.mark.parametrize(
    "seconds", [pytest.param(30, marks=[pytest.mark.quick, pytest.mark.ci]), 120, 600], ids=lambda value: f"{value}-s"
)
def test_api_server_away(case: Case, seconds: int) -> None:
    away = out(API_SERVER, "kill", seconds, "start")
    played = case(begun(LOST, away, CHANGE, CHILD_DELETED, SOON))
    print_recovery(played, f"{seconds} s without the API server")


@pytest.mark.fault(
    "F9",
    "etcd or the API server killed or frozen for two minutes",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="watches-from-now",
    by=("O1", "O5"),
)
@pytest.mark.parametrize(
    ("name", "begin", "end", "watched"),
    [("etcd", "kill", "start", False), (API_SERVER, "pause", "resume", True)],
    ids=["etcd-kill-start", f"{API_SERVER}-pause-resume"],
)
def test_program_out(case: Case, name: str, begin: str, end: str, watched: bool) -> None:
    steps: Script = (*out(name, begin, 120, end), *CHANGE, CHILD_DELETED)
    if not watched:
        steps = (*NO_WATCH, *steps, Lift())
    print_recovery(case(begun(LOST, steps, SOON)), f"{name}: {begin} and {end}")


@pytest.mark.fault(
    "F9",
    "the operator paused by SIGSTOP during a restart of the API server and changes",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="sees-no-drift",
)
def test_operator_frozen(case: Case) -> None:
    meanwhile: Script = (Program(API_SERVER, "kill"), Program(API_SERVER, "start"), *CHANGE, CHILD_DELETED)
    frozen: Script = (Operator("pause"), *meanwhile, Wait(table=60), Operator("resume"))
    print_recovery(case(begun(frozen, SOON)), "SIGSTOP of the operator")


@pytest.mark.fault(
    "F23",
    "etcd restored from an older state while the operator runs",
    oracles=("O1", "O3", "O4", "O5"),
    broken="blind-to-history",
)
@pytest.mark.parametrize("what", ["changed", "created", "child deleted"])
def test_etcd_restored(case: Case, what: str) -> None:
    steps: dict[str, Script] = {
        "changed": (*CHANGE, FOLLOWED),
        "created": (
            Life("create", name="other"),
            kubectl("wait", "{parents}/other", "--for=jsonpath={.status.observedGeneration}=1", "--timeout=30s"),
        ),
        "child deleted": (CHILD_DELETED, kubectl("wait", "{child}/web", "--for=create", "--timeout=30s")),
    }
    then = Life("edit", 3)
    restored: Script = (Disaster("save etcd"), *MANY_REVISIONS, *steps[what], Disaster("restore etcd"))
    played = case(begun(restored, then, SOON), reference=case.reference(begun(then, Settle())))
    print_recovery(played, f"etcd restored, {what}")


@pytest.mark.fault(
    "F24",
    "the CRD deleted while the operator runs, and installed again",
    oracles=("O1", "O3", "O4", "O6"),
    broken="discovery-not-awaited",
)
@pytest.mark.parametrize("clusterwide", [False, True], ids=["single-namespace", "cluster-wide"])
@pytest.mark.parametrize("children", [pytest.param("children there", marks=pytest.mark.ci), "children gone"])
def test_crd_deleted(case: Case, children: str, clusterwide: bool) -> None:
    gone: Script = (Disaster("wait for the children's deletion"),) if children == "children gone" else ()
    again: Script = (canary(1), *CREATE)
    script = begun(Disaster("delete the CRD"), gone, Wait(table=30), Disaster("install the CRD"), again, SOON)
    print_recovery(case(script, clusterwide=clusterwide), f"CRD deleted, {children}, cluster-wide: {clusterwide}")
