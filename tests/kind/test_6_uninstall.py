"""Removal of operator, CRD and application namespace in any order: no object is stuck, and a new install works.

Runs last, because it removes objects needed by the other tests.
"""

import itertools

import pytest

from integration.scene import eventually
from kind.client import Client
from kind.installation import CRD, Installation
from kind.namespace import Namespace, spec
from kind.timings import Timings

OPERATOR, DEFINITION, APPLICATIONS = "operator", "CRD", "namespace"
ORDERS = list(itertools.permutations((OPERATOR, DEFINITION, APPLICATIONS)))
IN_CI = (ORDERS[0], ORDERS[-1])
"""Two opposite orders. Each takes almost a minute."""
COLLECTED_SECONDS = 90
LEFT = "serviceaccounts,configmaps,services,deployments,replicasets,pods"


QUICK = spec(
    config={"GREETING": "hello"},
    terminationGracePeriodSeconds=1,
    readinessProbe={"tcpSocket": {"port": "http"}, "periodSeconds": 1},
)
"""A WebApp that starts and stops quickly."""


def collected(namespace: Namespace, selector: str = "coxswain.dev/webapp") -> None:
    """Wait until no child of a WebApp is left."""
    eventually(
        lambda: not namespace.list(LEFT, selector), "all children are gone", timeout=COLLECTED_SECONDS, pause=0.5
    )


def see_the_collector_work(namespace: Namespace) -> None:
    """Wait until the garbage collector watches the kind; it looks for new kinds every 30 s.

    Foreground deletion completes only with the garbage collector. Background deletion proves nothing: the collector
    also looks up an owner that it has not seen, a few times, but no longer after the deletion of the owner's kind.
    """
    namespace.apply_ready(QUICK, "first")
    namespace.kubectl("delete", "webapp", "first", "--cascade=foreground", f"--timeout={COLLECTED_SECONDS}s")
    collected(namespace, "coxswain.dev/webapp=first")


@pytest.mark.parametrize(
    "order", [pytest.param(each, marks=[] if each in IN_CI else pytest.mark.full) for each in ORDERS], ids=" then ".join
)
def test_removed_in_any_order_nothing_is_left(
    namespace: Namespace, client: Client, operator: Installation, timings: Timings, order: tuple[str, ...]
) -> None:
    namespace.apply_ready(QUICK)
    children_outlive_their_kind = order.index(DEFINITION) < order.index(APPLICATIONS)
    if children_outlive_their_kind:
        see_the_collector_work(namespace)
    with timings.of(f"removal: {', '.join(order)}"):
        for step in order:
            remove(step, namespace, operator)
            if step == DEFINITION and children_outlive_their_kind:
                collected(namespace)
    nothing_is_left(namespace)
    with timings.of(f"after removal ({', '.join(order)}): installed again, a WebApp Ready"):
        operator.install()
        namespace.cluster.kubectl("create", "namespace", namespace.name)
        namespace.apply_ready(QUICK)
    assert client.get(namespace.address()).startswith("v1 ")


def remove(step: str, namespace: Namespace, operator: Installation) -> None:
    if step == OPERATOR:
        operator.remove_operator()
    elif step == DEFINITION:
        operator.remove_crd()
    else:
        namespace.cluster.kubectl("delete", "namespace", namespace.name, "--timeout=90s")


def nothing_is_left(namespace: Namespace) -> None:
    gone = ("namespace/" + namespace.name, "namespace/coxswain-system", f"customresourcedefinition/{CRD}")
    cluster = namespace.cluster
    found = cluster.kubectl("get", "--ignore-not-found", "-o", "name", *gone)
    assert found == ""
    roles = cluster.kubectl("get", "clusterroles,clusterrolebindings", "-o", "name").split()
    assert [role for role in roles if "coxswain" in role] == []


def test_removed_in_one_command_nothing_is_left(
    namespace: Namespace, client: Client, operator: Installation, timings: Timings
) -> None:
    namespace.apply_ready(QUICK)
    see_the_collector_work(namespace)
    with timings.of("removal: `kubectl delete -k`, and then the children gone"):
        operator.remove_all()
        collected(namespace)
    with timings.of("after `kubectl delete -k`: installed again, a WebApp Ready"):
        operator.install()
        namespace.apply_ready(QUICK)
    assert client.get(namespace.address()).startswith("v1 ")
