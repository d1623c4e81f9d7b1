"""Why the API server refuses to create pods: quotas, limits and policies, from the condition ReplicaFailure."""

import re
from collections.abc import Mapping
from typing import Any

from coxswain.webapp.diagnosis.commands import pods_of
from coxswain.webapp.identity import CONTAINER
from coxswain.webapp.spec import WebApp

_FORBIDDEN = re.compile(r'pods "[^"]*" is forbidden: (.*)', re.DOTALL)
_EXCEEDED = re.compile(r"exceeded quota: (\S+), requested: (\S+), used: (\S+), limited: (\S+)")
_UNSPECIFIED = re.compile(r" for: ([^;]+)")
"""The containers without a resource that a quota asks for, such as "proxy,app"."""

_STEPS = (
    (
        r"exceeded quota: (\S+),",
        "Raise the quota, or lower {changes}: kubectl describe resourcequota {0} {where}",
    ),
    (r"failed quota: (\S+): must specify ", "Set it in {resources}: kubectl describe resourcequota {0} {where}"),
    (r" (?:usage|ratio) per (?:Container|Pod) is ", "Correct spec.resources: kubectl describe limitrange {where}"),
    (r"PodSecurity", "See the level of the namespace: kubectl get namespace {namespace} --show-labels"),
    (r"ValidatingAdmissionPolicy '([^']+)'", "See the policy: kubectl describe validatingadmissionpolicy {0}"),
    (
        r"(?:admission|calling) webhook",
        "See: kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations",
    ),
    (
        r'serviceaccount "([^"]+)" not found',
        "Create it, or correct spec.serviceAccount.name: kubectl get serviceaccount {0} {where}",
    ),
    (r"PriorityClass", "Correct spec.priorityClassName: kubectl get priorityclasses"),
    (r"RuntimeClass", "Correct spec.runtimeClassName: kubectl get runtimeclasses"),
    (r"", "See: kubectl describe replicasets {pods}"),
)
"""The next step for the user, by a part of the message."""


def not_created(webapp: WebApp, message: str) -> str:
    """Return the message for pods that cannot be created, without names of pods: each attempt has another one.

    Args:
        webapp: the WebApp.
        message: the message of the condition ReplicaFailure.
    """
    forbidden = _FORBIDDEN.fullmatch(message)
    problem = (forbidden[1] if forbidden else message).removesuffix(".") or "no reason is known"
    exceeded = _EXCEEDED.fullmatch(problem)
    if exceeded:
        problem = _shortage(*exceeded.groups())
    return f"pods cannot be created: {problem}. Kubernetes retries with backoff. {_advice(webapp, message)}"


def _shortage(quota: str, requested: str, used: str, limited: str) -> str:
    """Return the exceeded resources of a quota, such as "pods 2 of 2 used, 1 more requested"."""
    wanted, present, limits = (_amounts(amounts) for amounts in (requested, used, limited))
    resources = [
        f"{name} {present.get(name, '?')} of {limits.get(name, '?')} used, {amount} more requested"
        for name, amount in wanted.items()
    ]
    return f"ResourceQuota {quota} is exceeded: {'; '.join(resources)}"


def _amounts(text: str) -> dict[str, str]:
    pairs = [amount.partition("=") for amount in text.split(",")]
    return {name: amount for name, _, amount in pairs}


def _advice(webapp: WebApp, message: str) -> str:
    """Return the next step for the user."""
    found = ((re.search(pattern, message), step) for pattern, step in _STEPS)
    groups, step = next((match.groups(), step) for match, step in found if match)
    # The schema refuses another spec.replicas beside spec.autoscaling.
    replicas = "spec.autoscaling" if "autoscaling" in webapp.spec else "spec.replicas"
    return step.format(
        *groups,
        where=f"-n {webapp.namespace}",
        namespace=webapp.namespace,
        pods=pods_of(webapp),
        changes=f"{replicas}, spec.resources or spec.rollout.maxSurge",
        resources=_resources(webapp, message),
    )


def _resources(webapp: WebApp, message: str) -> str:
    """Return the fields with the resources of the containers in a message; those of the main one if it names none."""
    spec: Mapping[str, Any] = webapp.spec
    fields = {CONTAINER: "spec.resources"}
    for kind in ("initContainers", "sidecars"):
        fields |= {each["name"]: f"spec.{kind}[name={each['name']}].resources" for each in spec.get(kind, [])}
    names = {name for found in _UNSPECIFIED.findall(message) for name in found.split(",")} or {CONTAINER}
    return " and ".join(sorted(fields.get(name, f"the source of container {name}") for name in names))
