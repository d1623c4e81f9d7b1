"""Whose a field is that another manager owns too: the policies of `spec.conflicts`."""

from enum import StrEnum

from coxswain.webapp.identity import REPLICAS_ANNOTATION, standard_labels
from coxswain.webapp.quote import abridged
from coxswain.webapp.spec import WebApp


class Policy(StrEnum):
    """What happens to a field that another manager owns."""

    ENFORCE = "Enforce"
    """It is taken back."""
    YIELD = "Yield"
    """It is left to the other manager; the rest is applied."""
    HALT = "Halt"
    """Nothing is written to that object until a person has decided."""


_NAMED = 3


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
        return _known(max(rules, key=lambda rule: len(rule["path"]))["policy"])
    return _known(conflicts.get("policy", Policy.ENFORCE))


def enforces_all(webapp: WebApp) -> bool:
    """Tell whether no field is left to others, and none forbids to write."""
    conflicts = webapp.spec.get("conflicts", {})
    policies = [conflicts.get("policy", Policy.ENFORCE), *(rule["policy"] for rule in conflicts.get("rules", []))]
    return all(policy == Policy.ENFORCE for policy in policies)


def unknown_policies(webapp: WebApp) -> str:
    """Return a sentence about the policies that this version does not know, such as those of a newer CRD; or nothing.

    They count as Halt: it is the only policy that neither takes a field from its owner nor gives it away.
    """
    conflicts = webapp.spec.get("conflicts", {})
    said = {"spec.conflicts": conflicts.get("policy", Policy.ENFORCE)}
    for rule in conflicts.get("rules", []):
        said[f"the rule for {rule['kind']} {rule['path']}"] = rule["policy"]
    unknown = [f"{abridged(str(policy))} ({place})" for place, policy in said.items() if _is_unknown(policy)]
    if not unknown:
        return ""
    return (
        f"this version of coxswain does not know the policy {', '.join(unknown[:_NAMED])} and treats it as Halt; "
        "upgrade coxswain or choose Enforce, Yield or Halt"
    )


def is_identity(kind: str, field: str) -> bool:
    """Tell whether a field is, or has in it, what makes a child what it is.

    Without its standard labels, owner reference and selector no child could be found, owned or reached.
    """
    if within(field, f"metadata.annotations[{REPLICAS_ANNOTATION}]"):
        return True
    labels = ("metadata.labels", "spec.template.metadata.labels")
    paths = ["metadata.ownerReferences", *(f"{where}[{name}]" for where in labels for name in standard_labels(""))]
    if kind in ("Deployment", "Service"):
        paths.append("spec.selector")
    return any(within(field, path) or within(path, field) for path in paths)


def _known(policy: object) -> Policy:
    return next((known for known in Policy if known == policy), Policy.HALT)


def _is_unknown(policy: object) -> bool:
    return policy not in list(Policy)
