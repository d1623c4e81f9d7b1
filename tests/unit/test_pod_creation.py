"""Pods that cannot be created: the message names the quota, the limit or the policy, and ends with a command."""

import pytest

from coxswain.webapp.diagnosis.pod_creation import not_created
from unit.objects import webapp

CHANGES = "spec.replicas, spec.resources or spec.rollout.maxSurge"


def forbidden(why: str) -> str:
    return f'pods "web-554b9c67f9-c5cv4" is forbidden: {why}'


@pytest.mark.parametrize(
    ("message", "problem", "step"),
    [
        (
            forbidden("exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"),
            "ResourceQuota few is exceeded: pods 2 of 2 used, 1 more requested",
            f"Raise the quota, or lower {CHANGES}: kubectl describe resourcequota few -n shop",
        ),
        (
            forbidden(
                "exceeded quota: cpu, requested: limits.cpu=500m,requests.cpu=250m, used: limits.cpu=2,requests.cpu=1, "
                "limited: limits.cpu=2,requests.cpu=1"
            ),
            (
                "ResourceQuota cpu is exceeded: limits.cpu 2 of 2 used, 500m more requested; "
                "requests.cpu 1 of 1 used, 250m more requested"
            ),
            f"Raise the quota, or lower {CHANGES}: kubectl describe resourcequota cpu -n shop",
        ),
        (
            forbidden("failed quota: memory: must specify limits.memory for: app"),
            "failed quota: memory: must specify limits.memory for: app",
            "Set it in spec.resources: kubectl describe resourcequota memory -n shop",
        ),
        (
            forbidden("maximum cpu usage per Container is 1, but limit is 2."),
            "maximum cpu usage per Container is 1, but limit is 2",
            "Correct spec.resources: kubectl describe limitrange -n shop",
        ),
        (
            forbidden("memory max limit to request ratio per Container is 2, but provided ratio is 10.000000."),
            "memory max limit to request ratio per Container is 2, but provided ratio is 10.000000",
            "Correct spec.resources: kubectl describe limitrange -n shop",
        ),
        (
            forbidden('violates PodSecurity "restricted:latest": hostPath volumes'),
            'violates PodSecurity "restricted:latest": hostPath volumes',
            "See the level of the namespace: kubectl get namespace shop --show-labels",
        ),
        (
            forbidden("ValidatingAdmissionPolicy 'no-latest' with binding 'all' denied request: tag"),
            "ValidatingAdmissionPolicy 'no-latest' with binding 'all' denied request: tag",
            "See the policy: kubectl describe validatingadmissionpolicy no-latest",
        ),
        (
            'admission webhook "pods.example.com" denied the request: no {braces}',
            'admission webhook "pods.example.com" denied the request: no {braces}',
            "See: kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations",
        ),
        (
            'Internal error occurred: failed calling webhook "pods.example.com": connection refused',
            'Internal error occurred: failed calling webhook "pods.example.com": connection refused',
            "See: kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations",
        ),
        (
            forbidden('error looking up service account shop/cart: serviceaccount "cart" not found'),
            'error looking up service account shop/cart: serviceaccount "cart" not found',
            "Create it, or correct spec.serviceAccount.name: kubectl get serviceaccount cart -n shop",
        ),
        (
            forbidden("no PriorityClass with name high was found"),
            "no PriorityClass with name high was found",
            "Correct spec.priorityClassName: kubectl get priorityclasses",
        ),
        (
            forbidden('pod rejected: RuntimeClass "gvisor" not found'),
            'pod rejected: RuntimeClass "gvisor" not found',
            "Correct spec.runtimeClassName: kubectl get runtimeclasses",
        ),
        (
            "etcdserver: request timed out",
            "etcdserver: request timed out",
            "See: kubectl describe replicasets -l coxswain.dev/webapp=web -n shop",
        ),
        ("", "no reason is known", "See: kubectl describe replicasets -l coxswain.dev/webapp=web -n shop"),
    ],
)
def test_a_refused_creation(message: str, problem: str, step: str) -> None:
    expected = f"pods cannot be created: {problem}. Kubernetes retries with backoff. {step}"
    assert not_created(webapp(), message) == expected


def test_a_quota_beside_autoscaling() -> None:
    """The schema refuses another spec.replicas then."""
    exceeded = forbidden("exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2")
    found = not_created(webapp(autoscaling={"maxReplicas": 3}), exceeded)
    assert "or lower spec.autoscaling, spec.resources or spec.rollout.maxSurge: kubectl" in found


@pytest.mark.parametrize(
    ("missing", "fields"),
    [
        ("limits.cpu", "spec.resources"),
        ("limits.cpu for: proxy", "spec.sidecars[name=proxy].resources"),
        (
            "limits.cpu for: app; limits.memory for: app,migrate",
            "spec.initContainers[name=migrate].resources and spec.resources",
        ),
        ("limits.cpu for: istio-proxy", "the source of container istio-proxy"),
    ],
)
def test_a_quota_names_the_containers_without_a_resource(missing: str, fields: str) -> None:
    app = webapp(
        sidecars=[{"name": "proxy", "image": "proxy"}], initContainers=[{"name": "migrate", "image": "migrate"}]
    )
    found = not_created(app, forbidden(f"failed quota: few: must specify {missing}"))
    assert found.endswith(f". Set it in {fields}: kubectl describe resourcequota few -n shop")


def test_an_unusual_amount_does_not_fail() -> None:
    odd = forbidden("exceeded quota: few, requested: pods=1,cpu, used: x, limited: pods=2")
    assert "pods ? of 2 used, 1 more requested; cpu ? of ? used" in not_created(webapp(), odd)
