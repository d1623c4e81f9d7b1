"""Rights on a kind in one namespace, and the next step after RBAC refused to list it."""

import re
from dataclasses import dataclass

_REFUSED_USER = re.compile(r'User "([^"]+)" cannot')
"""The user in a refusal by RBAC."""


@dataclass(frozen=True)
class Grant:
    """Manifests that grant the right on a kind in one namespace."""

    kustomization: str
    """Its path in a checkout of the operator."""
    user: str
    """The user name of the subject in its RoleBinding."""
    granter: str
    """The user with the right to apply it, with an article. Kubernetes lets nobody grant a right that they lack."""

    def step(self, namespace: str) -> str:
        """Return the sentence with the command that grants the right in a namespace."""
        command = f"kubectl apply -n {namespace} -k {self.kustomization}"
        return f"{self.granter} can grant the right, from a checkout of the operator: {command}"


def step_after_refusal(refusal: str, resource: str, namespace: str | None, grant: Grant | None) -> str | None:
    """Return the next step after RBAC refused a LIST, or None if `refusal` is another message.

    Args:
        refusal: the message of the API server.
        resource: the resource as an argument of kubectl.
        namespace: the namespace of the LIST, or None for the whole cluster. A Role gives no right there.
        grant: the manifests of the right, if there are any.
    """
    refused = _REFUSED_USER.search(refusal)
    if refused is None:
        return None
    if grant is not None and namespace and refused[1] == grant.user:
        return grant.step(namespace)
    scope = f"-n {namespace}" if namespace else "--all-namespaces"
    command = f"kubectl auth can-i list {resource} {scope} --as={refused[1]}"
    return f"Check that it may list and watch {resource}: {command}"
