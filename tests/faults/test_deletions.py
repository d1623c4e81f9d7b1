"""F6 and F17: WebApps and namespaces that go, and WebApps that come back under their name."""

import pytest

from faults.lives import CHANGE, CHANGED, CREATE, SPEC, webapp
from faults.plan import Delay, Match, Rule
from faults.play import canary
from faults.policies import denial, no_denial
from faults.run import Case
from faults.script import Lift, Met, Operator, Probe, Program, Script, Settle, Wait, apply, inject, kubectl
from faults.watching import UNTIL_LIFTED

GONE = kubectl("delete", "webapp", "web")
"""Returns when it is gone; its children go later."""
BACK = apply(webapp(CHANGED))
COLLECTOR = "kube-controller-manager"
CREATED: Script = (*CREATE, Settle())


def late(resource: str) -> Script:
    """Return the step that holds up the next write of a child, until the faults are lifted."""
    return (inject(Rule(Match("patch", resource, "web*"), Delay(UNTIL_LIFTED))),)


@pytest.mark.fault(
    "F6",
    "deleted and recreated under its name while the operator is down",
    oracles=("O1", "O2", "O3", "O4", "O6"),
    broken="owner-by-name",
)
@pytest.mark.quick
def test_recreated_while_the_operator_is_down(case: Case) -> None:
    # The garbage collector is held up: the operator finds the children of the old one, under the name of the new one.
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
    "deleted and recreated under its name while a write of its reconcile is on its way",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="tells-a-namesake",
    by="O5",
)
@pytest.mark.parametrize("resource", ["webapps/status", "configmaps", "deployments"])
def test_recreated_in_the_middle_of_a_reconcile(case: Case, resource: str) -> None:
    case((*CREATED, *late(resource), *CHANGE, Met(), GONE, BACK, Lift(), Settle()))


@pytest.mark.fault(
    "F17",
    "deleted while its children are being created",
    oracles=("O1", "O3", "O4", "O6", "O7"),
    broken="insists-on-its-status",
    by="O3",
)
@pytest.mark.parametrize("resource", ["webapps/status", "serviceaccounts", "services", "deployments"])
def test_deleted_during_its_creation(case: Case, resource: str) -> None:
    case((*late(resource), *CREATE, Met(), GONE, Lift(), Settle()))


@pytest.mark.fault(
    "F17",
    "deleted while the operator is down; of another, held by a finalizer, the children go first",
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
            Wait(20),
            kubectl("patch", "webapp", "held", "--type=merge", "--patch", '{"metadata": {"finalizers": null}}'),
            Settle(),
        )
    )


@pytest.mark.fault(
    "F17",
    "its namespace is being deleted, and it is kept from going: nothing can be made, nor must be tried for ever",
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
            apply(canary(1)),
            *CREATE,
            Settle(),
        ),
        reference=reference,
    )
