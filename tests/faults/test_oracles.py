"""The oracles themselves: each alone judges a life without faults, and finds what an operator does wrong in its way.

What it finds passes through all that records a run: proxy, witness, audit log, probes.
"""

import pytest

from faults.lives import CREATE, life
from faults.run import Case
from faults.script import Edit, Script, Settle, Wait

LABEL = Edit("serviceaccounts", "web", {"metadata": {"labels": {"app.kubernetes.io/name": "other"}}})
ANOTHER_LABEL: Script = (*CREATE, Settle(), LABEL, Wait(table=200))
"""A field that is neither an image nor a count of replicas, wrong for longer than a status may say Ready."""


def judged(oracle: str, broken: str, what: str = "", script: Script | None = None) -> object:
    """Return a life that one oracle judges, and the break that it finds."""
    title = f"a life without a fault, judged by {oracle}{what and f': {what}'}"
    marks = pytest.mark.fault("none", title, oracles=(oracle,), broken=broken, by=oracle)
    return pytest.param(script or life(), id=f"{oracle}{what and f' {what}'}", marks=marks)


@pytest.mark.parametrize(
    "script",
    [
        judged("O1", "sees-no-drift"),
        judged("O2", "deletes-what-the-collector-deletes"),
        judged("O3", "chatters"),
        judged("O4", "deaf-after-a-deletion"),
        judged("O5", "claims-to-be-ready"),
        judged("O5", "sees-no-drift", "any field of any child", ANOTHER_LABEL),
        judged("O6", "begins-with-nothing"),
        judged("O6", "writes-elsewhere", "nothing elsewhere"),
        judged("O6", "remakes-services", "no Service deleted"),
        judged("O7", "lists-without-end"),
        judged("O8", "reads-secrets"),
        judged("O8", "shows-a-secret-in-its-metrics", "metrics"),
    ],
)
def test_a_life_without_a_fault(case: Case, script: Script) -> None:
    case(script)
