"""The diagram of an audit log: pure, from events to lines."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from cluster.audit import AuditEvent
from cluster.catalog import KUBERNETES
from demo import hub, sequence_page
from demo.sequence import Step, diagram, steps, table
from demo.sequence_page import PAGE

OPERATOR = "system:serviceaccount:coxswain-system:coxswain"
CONTROLLER = "system:serviceaccount:kube-system:"


def event(second: float, user: str, request: str, name: str = "shop", code: int = 201, **rest: str) -> AuditEvent:
    verb, _, thing = request.partition(" ")
    resource, _, subresource = thing.partition("/")
    return AuditEvent(
        user=user,
        agent="",
        verb=verb,
        resource=resource,
        subresource=subresource,
        namespace=rest.get("namespace", "here"),
        name=name,
        code=code,
        stage="ResponseComplete",
        uri="",
        time=f"2026-01-02T03:04:{second:09.6f}Z",
    )


LOG = [
    event(0.5, f"{CONTROLLER}root-ca-cert-publisher", "create configmaps", "kube-root-ca.crt"),
    event(0.9, "admin", "get webapps", code=404),
    event(1.0, "admin", "create webapps"),
    event(1.02, OPERATOR, "patch serviceaccounts"),
    event(1.03, OPERATOR, "patch configmaps", "shop-1ea854323c"),
    event(1.01, f"{CONTROLLER}deployment-controller", "create replicasets", "other", namespace="there"),
    event(1.05, f"{CONTROLLER}deployment-controller", "create replicasets", "shop-8c4fbc96b"),
    event(1.04, OPERATOR, "patch deployments"),
    event(1.06, OPERATOR, "create events", "shop.1"),
    event(1.055, f"{CONTROLLER}deployment-controller", "update deployments/status", code=409),
    event(1.07, f"{CONTROLLER}replicaset-controller", "create pods", ""),
    event(1.08, "system:kube-scheduler", "create pods/binding", "shop-8c4fbc96b-2sq5h"),
    event(1.1, "stranger", "patch pods", "shop-8c4fbc96b-2sq5h", 403),
    event(1.2004, OPERATOR, "patch webapps/status", code=200),
    event(1.3, OPERATOR, "patch deployments", code=200),
    event(1.4, OPERATOR, "patch webapps/status", code=409),
]


@pytest.fixture
def found() -> Sequence[Step]:
    return steps(LOG, "here", "shop")


def test_the_steps_are_the_writes_from_the_creation_to_the_last_status_in_their_order(found: Sequence[Step]) -> None:
    assert [(step.actor, step.request) for step in found] == [
        ("you", "create WebApp shop"),
        ("coxswain", "patch ServiceAccount shop"),
        ("coxswain", "patch ConfigMap shop-HASH"),
        ("coxswain", "patch Deployment shop"),
        ("deployment controller", "create ReplicaSet shop-HASH"),
        ("deployment controller", "update Deployment shop, its status"),
        ("replicaset controller", "create Pod shop-HASH-ID"),
        ("scheduler", "create Pod shop-HASH-ID, its binding"),
        ("stranger", "patch Pod shop-HASH-ID"),
        ("coxswain", "patch WebApp shop, its status"),
    ]


def test_time_counts_from_the_creation(found: Sequence[Step]) -> None:
    assert [round(step.milliseconds, 1) for step in found][-3:] == [80.0, 100.0, 200.4]


def test_news_is_the_newest_accepted_write_of_another_to_what_one_acts_upon(found: Sequence[Step]) -> None:
    news = [step.woken_by.request if step.woken_by else None for step in found]
    assert news == [
        None,
        "create WebApp shop",
        None,
        None,
        "patch Deployment shop",
        None,
        "create ReplicaSet shop-HASH",
        "create Pod shop-HASH-ID",
        None,
        "create Pod shop-HASH-ID, its binding",
    ]


def test_the_table_has_the_number_of_what_was_news(found: Sequence[Step]) -> None:
    lines = table(found)
    assert lines[2] == "| 1 | 0 | you | create WebApp shop | 201 |  |"
    assert lines[7] == "| 6 | 55 | deployment controller | update Deployment shop, its status | 409 |  |"
    assert lines[-1] == "| 10 | 200 | coxswain | patch WebApp shop, its status | 200 | Pod shop-HASH-ID (8) |"


def test_the_diagram_has_every_request_and_the_events_before_it(found: Sequence[Step]) -> None:
    lines = [line.strip() for line in diagram(found)]
    assert lines[:5] == [
        "sequenceDiagram",
        "participant etcd",
        "participant api as API server",
        "actor a0 as you",
        "participant a1 as coxswain",
    ]
    assert lines[9:14] == [
        "a0->>api: 1. create WebApp shop",
        "api->>etcd: a transaction: WebApp shop",
        "etcd-->>api: WebApp shop",
        "api-->>a1: WebApp shop",
        "a1->>api: 2. patch ServiceAccount shop",
    ]
    assert "a2->>api: 6. update Deployment shop, its status (409)" in lines
    assert sum("->>api:" in line and "-->>" not in line for line in lines) == len(found)


def test_the_page_in_docs_is_of_this_text_and_this_kubernetes() -> None:
    """Only the run differs from one drawing to the next: else `make sequence` was forgotten."""
    written = PAGE.read_text(encoding="utf-8").splitlines()
    fixed = [line for text in (sequence_page.TEXT, hub.TEXT) for line in text.splitlines() if "{" not in line]
    assert [line for line in fixed if line not in written] == []
    assert str(KUBERNETES.version) in "\n".join(written)


def audited(user: str, reason: str, *, code: int = 201, **extra: Any) -> str:
    return json.dumps(
        {
            "verb": "create",
            "user": {"username": user, **extra},
            "objectRef": {"namespace": "here"},
            "responseStatus": {"code": code},
            "annotations": {"authorization.k8s.io/reason": reason},
        }
    )


def test_the_identities_are_those_of_accepted_writes_with_the_roles_that_allowed_them() -> None:
    by_role = 'RBAC: allowed by ClusterRoleBinding "a" of ClusterRole "coxswain" to ServiceAccount "b/c"'
    by_another = 'RBAC: allowed by RoleBinding "a" of Role "events" to ServiceAccount "b/c"'
    token: dict[str, Any] = {"extra": {"authentication.kubernetes.io/credential-id": ["JTI=1"]}}
    lines = [
        audited("admin", "", groups=["system:masters"]),
        audited("system:kube-scheduler", by_role, code=409),
        audited("stranger", by_role),
        *(audited(OPERATOR, reason, **token) for reason in (by_role, by_role, by_another)),
    ]
    assert hub.identities(lines, "here") == [
        hub.Identity("you", "admin", "token in a file of the API server", ("group system:masters",)),
        hub.Identity("coxswain", OPERATOR, "ServiceAccount token", ("ClusterRole coxswain", "Role events")),
    ]
    assert hub.identities(lines, "there") == []


def test_the_page_has_the_figures_of_the_hub(found: Sequence[Step]) -> None:
    who = hub.Identity("coxswain", OPERATOR, "ServiceAccount token", ("ClusterRole coxswain",))
    measured = hub.Hub({"kube-apiserver": 60, "coxswain": 0}, 60, hub.FanOut(3, 20, 50, 0, 5, 6, 138), [who])
    text = sequence_page.page(found, measured)
    assert "kube-apiserver 60, coxswain 0." in text
    assert "| 3 | +20 | |" in text
    assert "| 50 | +0 | |" in text
    assert "| | | +6 |" in text
    assert "| | | +138 |" in text
    assert f"| coxswain | `{OPERATOR}` | ServiceAccount token | ClusterRole coxswain |" in text
