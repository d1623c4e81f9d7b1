"""The oracles: each alone judges a life without faults, and rejects an operator that violates it.

Each violation passes through all recorders of a run: proxy, witness, audit log, probes.
"""

import pytest

from fault_engine.lives import CREATE, life
from fault_engine.run import Case
from fault_engine.script import Edit, Program, Script, Settle, Wait

LABEL = Edit("serviceaccounts", "web", {"metadata": {"labels": {"app.kubernetes.io/name": "other"}}})
ANOTHER_LABEL: Script = (*CREATE, Settle(), LABEL, Wait(table=200))
"""A wrong field other than image and replicas, for longer than the time limit of Ready."""
SLOW_PODS: Script = (Program("kwok", "pause"), *CREATE, Wait(table=30), Program("kwok", "resume"), *life()[1:])
"""No pod is ready when the operator writes the first status, however busy the machine is."""


def judged(oracle: str, broken: str, what: str = "", script: Script | None = None, *, generic: bool = True) -> object:
    """Return a parameter: a life for one oracle, and the break that it must detect."""
    title = f"a life without faults, judged by {oracle}{what and f': {what}'}"
    described = pytest.mark.fault("none", title, oracles=(oracle,), broken=broken, by=oracle)
    marks = [described, *[pytest.mark.generic] * generic]
    return pytest.param(script or life(), id=f"{oracle}{what and f' {what}'}", marks=marks)


@pytest.mark.parametrize(
    "script",
    [
        judged("O1", "sees-no-drift"),
        judged("O2", "deletes-what-the-collector-deletes"),
        judged("O3", "writes-events-forever"),
        judged("O4", "deaf-after-a-deletion"),
        judged("O5", "claims-to-be-ready", script=SLOW_PODS),
        judged("O5", "sees-no-drift", "any field of any child", ANOTHER_LABEL, generic=False),
        judged("O6", "creates-with-zero-replicas", generic=False),
        judged("O6", "writes-elsewhere", "no write to another namespace"),
        judged("O6", "recreates-services", "no Service deleted", generic=False),
        judged("O7", "relists-continuously"),
        judged("O8", "reads-secrets"),
        judged("O8", "shows-a-secret-in-its-metrics", "metrics"),
    ],
)
def test_a_life_without_a_fault(case: Case, script: Script) -> None:
    case(script)
