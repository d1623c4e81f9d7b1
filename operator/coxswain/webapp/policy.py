"""Whose a field is that another manager owns too: the policies of `spec.conflicts`."""

from enum import StrEnum

from coxswain.webapp.identity import REPLICAS_ANNOTATION, standard_labels
from coxswain.webapp.spec import WebApp


class Policy(StrEnum):
    """What happens to a field that another manager owns."""

    ENFORCE = "Enforce"
    """It is taken back."""
    YIELD = "Yield"
    """It is left to the other manager; the rest is applied."""
    HALT = "Halt"
    """Nothing is written to that object until a person has decided."""


def within(place: str, path: str) -> bool:
    """Tell whether a place, as a person writes it, is at `path` or inside of it."""
    return place == path or (place.startswith(path) and place[len(path)] in ".[")


def policy_of(webapp: WebApp, kind: str, field: str) -> Policy:
    """Return the policy for a field of a child: the rule with the longest path decides, whatever their order."""
    if is_identity(kind, field):
        return Policy.ENFORCE
    conflicts = webapp.spec.get("conflicts", {})
    rules = [rule for rule in conflicts.get("rules", []) if rule["kind"] == kind and within(field, rule["path"])]
    if rules:
        return Policy(max(rules, key=lambda rule: len(rule["path"]))["policy"])
    return Policy(conflicts.get("policy", Policy.ENFORCE))


def enforces_all(webapp: WebApp) -> bool:
    """Tell whether no field is left to others, and none forbids to write."""
    conflicts = webapp.spec.get("conflicts", {})
    policies = [conflicts.get("policy", Policy.ENFORCE), *(rule["policy"] for rule in conflicts.get("rules", []))]
    return all(policy == Policy.ENFORCE for policy in policies)


def is_identity(kind: str, field: str) -> bool:
    """Tell whether a field makes a child what it is: without it no child could be found, owned or reached."""
    if any(
        within(field, path) for path in ("metadata.ownerReferences", f"metadata.annotations[{REPLICAS_ANNOTATION}]")
    ):
        return True
    if kind in ("Deployment", "Service") and within(field, "spec.selector"):
        return True
    labels = ("metadata.labels", "spec.template.metadata.labels")
    return any(field == f"{where}[{name}]" for where in labels for name in standard_labels(""))
