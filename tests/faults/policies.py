"""Restrictions by a cluster administrator, as data: admission policies, quotas, limits."""

from collections.abc import Sequence
from typing import Any

from fault_engine.script import Kubectl, Probe, Script, apply, kubectl

_GROUP = "admissionregistration.k8s.io/v1"
_RUN = {"matchLabels": {"kubernetes.io/metadata.name": "{namespace}"}}
_GROUPS = {"deployments": "apps", "webapps": "coxswain.dev"}


def service_probe(*, labels: dict[str, str] | None = None) -> dict[str, Any]:
    """Return a Service for dry runs."""
    metadata = {"name": "probe", "labels": labels or {"any": "label"}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}}


def _rules(resources: Sequence[str], operations: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "apiGroups": [_GROUPS.get(resource, "")],
            "apiVersions": ["v1"],
            "resources": [resource],
            "operations": list(operations),
        }
        for resource in resources
    ]


def denial(resource: str, operation: str, message: str, *, reason: str = "Invalid") -> Kubectl:
    """Return a step that makes the API server deny an operation on a resource in the run's namespace."""
    name = f"{{namespace}}.deny-{resource}"
    policy = {
        "apiVersion": _GROUP,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": _rules([resource], [operation])},
            "failurePolicy": "Fail",
            "validations": [{"expression": "false", "message": message, "reason": reason}],
        },
    }
    binding = {
        "apiVersion": _GROUP,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": _RUN}},
    }
    return apply({"apiVersion": "v1", "kind": "List", "items": [policy, binding]})


def no_denial(resource: str) -> Kubectl:
    """Return a step that removes a denial."""
    kinds = "validatingadmissionpolicybinding,validatingadmissionpolicy"
    return kubectl("delete", kinds, f"{{namespace}}.deny-{resource}")


def relabelling(expression: str) -> Script:
    """Return steps that make admission change a label of the operator on each write of a Service or Deployment."""
    name = "{namespace}.relabel"
    path = "/metadata/labels/app.kubernetes.io~1name"
    patch = f'[JSONPatch{{op: "add", path: "{path}", value: {expression}}}]'
    policy = {
        "apiVersion": _GROUP,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": _rules(["services", "deployments"], ["CREATE", "UPDATE"])},
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
        },
    }
    binding = {
        "apiVersion": _GROUP,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "matchResources": {"namespaceSelector": _RUN}},
    }
    both = {"apiVersion": "v1", "kind": "List", "items": [policy, binding]}
    return (apply(both), Probe(service_probe(), "app.kubernetes.io/name"))
