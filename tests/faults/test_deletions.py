"""F6 and F17: deleted WebApps and namespaces, and WebApps recreated under the same name."""

import pytest

from fault_engine.lives import CHANGE, CREATE
from fault_engine.plan import Delay, Match, Rule
from fault_engine.play import canary
from fault_engine.run import Case
from fault_engine.script import Life, Lift, Met, Operator, Probe, Program, Script, Settle, Wait, apply, inject, kubectl
from fault_engine.watching import UNTIL_LIFTED
from faults.lives import SPEC, webapp
from faults.policies import denial, no_denial

GENERIC = pytest.mark.generic
GONE = kubectl("delete", "{parents}", "web")
"""Returns after the deletion of the WebApp; its children are deleted later."""
BACK = Life("recreate")
COLLECTOR = "kube-controller-manager"
CREATED: Script = (*CREATE, Settle())


def late(resource: str) -> Script:
    """Return the step that delays the next write of a child until the faults are lifted."""
    return (inject(Rule(Match("patch", resource, "web*"), Delay(UNTIL_LIFTED))),)


@GENERIC
@pytest.mark.fault(
    "F6",
    "deleted and recreated under the same name while the operator is down",
    oracles=("O1", "O2", "O3", "O4", "O6"),
    broken="owner-by-name",
    by="O2",
)
@pytest.mark.quick
def test_recreated_while_the_operator_is_down(case: Case) -> None:
    # The garbage collector is paused, so the operator finds children of the old WebApp under the name of the new one.
    late_collector = (
        Program(COLLECTOR, "pause"),
        GONE,
        BACK,
        Operator("start"),
        Wait(60),
        Program(COLLECTOR, "resume"),
    )
    case((*CREATED, Operator("kill"), *late_collector, Settle()))


@pytest.mark.fault(
    "F6",
    "deleted and recreated under the same name during a write of its reconcile",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="writes-status-by-name",
    by="O5",
)
@pytest.mark.parametrize(
    "resource",
    [
        pytest.param("{parents}/status", id="webapps/status", marks=GENERIC),
        pytest.param("configmaps", marks=GENERIC),
        pytest.param("{main}", id="deployments", marks=GENERIC),
    ],
)
def test_recreated_in_the_middle_of_a_reconcile(case: Case, resource: str) -> None:
    case((*CREATED, *late(resource), *CHANGE, Met(), GONE, BACK, Lift(), Settle()))


@pytest.mark.fault(
    "F17",
    "deleted during the creation of its children",
    oracles=("O1", "O3", "O4", "O6", "O7"),
    broken="retries-status-of-deleted",
    by="O3",
)
@pytest.mark.parametrize(
    "resource",
    [
        pytest.param("{parents}/status", id="webapps/status", marks=GENERIC),
        "serviceaccounts",
        pytest.param("{child}", id="services", marks=GENERIC),
        pytest.param("{main}", id="deployments", marks=GENERIC),
    ],
)
def test_deleted_during_its_creation(case: Case, resource: str) -> None:
    case((*late(resource), *CREATE, Met(), GONE, Lift(), Settle()))


@pytest.mark.fault(
    "F17",
    "deleted while the operator is down; another WebApp has a finalizer, and its children are deleted first",
    oracles=("O1", "O2", "O3", "O4", "O6", "O7"),
    broken="makes-anew-what-goes",
    by="O2",
)
def test_deleted_while_the_operator_is_down(case: Case) -> None:
    held = webapp(SPEC, "held")
    held["metadata"]["finalizers"] = ["other.example/slow"]
    case(
        (
            *CREATE,
            apply(held),
            Settle(),
            Operator("kill"),
            GONE,
            kubectl("delete", "webapp", "held", "--cascade=foreground", "--wait=false"),
            kubectl("wait", "--for=delete", "deployment/held", "--timeout=60s"),
            Operator("start"),
            # The operator works again: it has queued the WebApps of its first LIST before this one.
            Life("create", name="other"),
            kubectl("wait", "webapp/other", "--for=condition=Ready", "--timeout=60s"),
            Wait(20),
            kubectl("patch", "webapp", "held", "--type=merge", "--patch", '{"metadata": {"finalizers": null}}'),
            Settle(),
        )
    )


@pytest.mark.fault(
    "F17",
    "its namespace is terminating, and the WebApp cannot be deleted: no endless retries of refused creates",
    oracles=("O1", "O3", "O4", "O6", "O7"),
    broken="retries-without-backoff",
    by="O7",
)
def test_namespace_terminating(case: Case) -> None:
    reference = case.reference(CREATED)
    case(
        (
            *CREATE,
            kubectl("wait", "webapp", "--all", "--for=condition=Ready", "--timeout=60s"),
            denial("webapps", "DELETE", "WebApps stay"),
            Probe(webapp(SPEC, "probe"), "probe"),
            kubectl("delete", "namespace", "{namespace}", "--wait=false"),
            kubectl("wait", "--for=delete", "deployment/web", "--timeout=60s"),
            Wait(30),
            no_denial("webapps"),
            kubectl("delete", "namespace", "{namespace}", "--ignore-not-found"),
            kubectl("create", "namespace", "{namespace}"),
            kubectl("create", "secret", "generic", "credentials", "--from-literal=PASSWORD=other"),
            canary(1),
            *CREATE,
            Settle(),
        ),
        reference=reference,
    )
