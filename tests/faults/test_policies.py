"""F12 with conflict policies: others write to a field of a child that they or the operator own by the policy."""

import dataclasses
import json
from typing import Any

import pytest

from fault_engine.evidence import Evidence
from fault_engine.history import Request
from fault_engine.objects import Object, condition
from fault_engine.oracles import disclosure
from fault_engine.plan import Delay, Match, Rule
from fault_engine.play import Played
from fault_engine.run import Case
from fault_engine.script import Edit, Lift, Script, Settle, Storm, Wait, apply, inject, kubectl, patch
from fault_engine.watching import UNTIL_LIFTED
from faults.drifted_fields import waiting
from faults.lives import SPEC, webapp

FIELD = "spec.strategy.rollingUpdate.maxUnavailable"
"""A field that no pod depends on."""
WRITERS = 4


def change(value: int) -> dict[str, Any]:
    return {"spec": {"strategy": {"rollingUpdate": {"maxUnavailable": value}}}}


def governed(policy: str) -> Script:
    """Return steps that create a WebApp with a policy for the field."""
    rule = {"kind": "Deployment", "path": FIELD, "policy": policy}
    return (apply(webapp({**SPEC, "conflicts": {"rules": [rule]}})), Settle())


def storm(writers: int) -> Storm:
    """Return a storm of writers, each with its own field manager."""
    edits = [
        tuple(Edit("deployments", "web", change(value), manager=f"writer-{number}") for value in (1, 3, 4))
        for number in range(writers)
    ]
    return Storm(tuple(edits), table=40, every=0.05)


LAST = kubectl(
    *("patch", "deployment", "web", "--type=merge", "--field-manager=writer-0", "--patch", json.dumps(change(2)))
)
"""Determines the final owner of the field."""


def writes(played: Played, resource: str, begin: int, end: int | None = None) -> list[Request]:
    """Return the operator's writes of a resource between the n-th `Settle` and another one."""
    assert played.evidence is not None
    history = played.evidence.history
    times = [mark.at for mark in history.marks if mark.what == "settled"]
    until = float("inf") if end is None else times[end]
    return [
        request
        for request in history.writes(times[begin])
        if request.at < until and request.resource == resource and request.name == "web"
    ]


def web(evidence: Evidence | None) -> Object:
    """Return the WebApp at the end."""
    assert evidence is not None
    return next(found for found in evidence.end["webapps"] if found["metadata"]["name"] == "web")


JUDGED = ("O1", "O3", "O4", "O5", "O7")


@pytest.mark.fault(
    "F12",
    "four writers on a field of a Deployment under Enforce: it gets the value of the WebApp, and writes stop",
    oracles=JUDGED,
    broken="sees-no-drift",
)
def test_enforce(case: Case) -> None:
    created = governed("Enforce")
    played = case((*created, storm(WRITERS), LAST, Settle(90)), reference=waiting(case, created, 2))
    managers = {entry["manager"] for entry in web(played.evidence)["status"].get("drift", [])}
    print(*played.report, f"enforced against {', '.join(sorted(managers))}", sep="\n")
    assert managers <= {f"writer-{number}" for number in range(WRITERS)}
    assert managers


@pytest.mark.fault(
    "F12",
    "four writers on a field of a Deployment under Yield, then one of them alone: the Deployment is not written",
    oracles=JUDGED,
    broken="ignores-conflict-policies",
)
@pytest.mark.ci
def test_yield(case: Case) -> None:
    created = governed("Yield")
    reference = case.reference((*created, LAST, Settle()))
    played = case(
        (*created, storm(WRITERS), LAST, Settle(), storm(1), LAST, Settle()),
        reference=dataclasses.replace(reference, states=[*reference.states, reference.states[-1]]),
    )
    crowd, alone = (len(writes(played, "webapps/status", *span)) for span in ((0, 1), (1, 2)))
    print(*played.report, f"status writes: {crowd} with {WRITERS} writers, {alone} with one", sep="\n")
    assert writes(played, "deployments", 0, 2) == []
    assert alone == 0
    (entry,) = web(played.evidence)["status"]["conflicts"]
    assert (entry["manager"], entry["policy"]) == ("writer-0", "Yield")


@pytest.mark.fault(
    "F12",
    "four writers on a field of a Deployment under Halt: it is not written, and the status reports it; then Enforce",
    oracles=JUDGED,
    broken="ignores-conflict-policies",
)
def test_halt(case: Case) -> None:
    created = governed("Halt")
    enforced = patch("webapp", "web", {"spec": {"conflicts": {"policy": "Enforce", "rules": None}}})
    script: Script = (*created, LAST, Settle(), enforced, Settle())
    reference = case.reference(script)
    halted = web(reference.states[1])
    found = [condition(halted, kind).get("reason") for kind in ("Ready", "Stalled", "Conflicted")]
    assert found == ["Halted"] * 3, halted["status"]
    played = case((*created, storm(WRITERS), *script[len(created) :]), reference=reference)
    print(*played.report, sep="\n")
    assert writes(played, "deployments", 0, 1) == []
    assert writes(played, "deployments", 1) != []


@pytest.mark.fault(
    "F12",
    "a new conflict: another manager takes a field of its own during an apply",
    oracles=("O1", "O3", "O4", "O7"),
    broken="forces-always",
)
def test_a_new_conflict(case: Case) -> None:
    created = governed("Yield")
    slow = inject(Rule(Match("patch", "deployments", "web"), Delay(UNTIL_LIFTED)))
    again = patch("webapp", "web", {"spec": {"image": "registry.example/web:2"}})
    reference = case.reference((*created, again, LAST, Settle()))
    case((*created, slow, again, Wait(table=15), LAST, Lift(), Settle()), reference=reference)


def still(env: list[dict[str, Any]]) -> Script:
    """Return steps that create a WebApp without pods and without old ReplicaSets."""
    return (apply(webapp({**SPEC, "replicas": 0, "env": env, "rollout": {"revisionHistoryLimit": 0}})), Settle())


def of_the_container(env: list[dict[str, Any]]) -> Edit:
    """Return an edit that sets env variables of the Deployment's container."""
    container = {"name": "app", "env": env}
    return Edit("deployments", "web", {"spec": {"template": {"spec": {"containers": [container]}}}}, "strategic")


FIELDS = 40


@pytest.mark.fault(
    "F12",
    "more fields changed at once than the drift ledger holds: all are corrected, and it lists the last ones",
    oracles=("O1", "O3", "O4", "O7"),
    broken="unbounded-ledger",
    by="O7",
)
@pytest.mark.ci
def test_the_ledger_is_bounded(case: Case) -> None:
    created = still([{"name": f"FIELD_{number}", "value": "ours"} for number in range(FIELDS)])
    edit = of_the_container([{"name": f"FIELD_{number}", "value": "theirs"} for number in range(FIELDS)])
    played = case((*created, edit, Settle()), reference=waiting(case, created, 2))
    entries = web(played.evidence)["status"]["drift"]
    print(f"{FIELDS} fields corrected, {len(entries)} entries")
    assert {entry["found"] for entry in entries} == {"theirs"}
    assert len(entries) < FIELDS


TOLD = "sesame-of-another"
"""Another manager's value for a variable with the name of a secret. The ledger must not repeat it."""


@pytest.mark.fault(
    "F12",
    "an env variable with a secret-like name set to another value: corrected, and the value is not shown",
    oracles=("O3", "O4"),
    broken="shows-every-value",
    by="O8",
)
@pytest.mark.ci
def test_the_ledger_keeps_secrets(case: Case) -> None:
    created = still([*SPEC["env"], {"name": "API_TOKEN", "value": "sesame-of-ours"}])
    edit = of_the_container([{"name": "API_TOKEN", "value": TOLD}])
    played = case((*created, edit, Settle()), reference=waiting(case, created, 2))
    assert played.evidence is not None
    assert web(played.evidence)["status"]["drift"], "the drift ledger is empty"
    found = disclosure.check(_said(played, (TOLD, "sesame-of-ours")))
    case.measured.violations += [str(each) for each in found]
    assert not found, "\n".join(map(str, found))


def _said(played: Played, values: tuple[str, ...]) -> Evidence:
    """Return evidence of only the operator's statuses, Events and logs, because the children contain the values."""
    evidence = played.evidence
    assert evidence is not None

    def said(thing: Object) -> Object:
        metadata = {"name": thing["metadata"]["name"]}
        return {"metadata": metadata, "status": thing.get("status", {}), "note": thing.get("note", "")}

    changes = [
        dataclasses.replace(change, object=said(change.object))
        for change in evidence.changes
        if change.resource in ("webapps", "events")
    ]
    requests = [found for found in evidence.history.requests if found.resource in ("webapps/status", "events")]
    history = dataclasses.replace(evidence.history, requests=requests)
    return dataclasses.replace(evidence, secrets=values, changes=changes, end={}, history=history)
