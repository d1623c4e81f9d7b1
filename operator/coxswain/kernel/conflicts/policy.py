"""Conflict policies (`spec.conflicts` of a parent) for fields also owned by another manager."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from coxswain.kernel.objects.quote import abridged, enumerated

_NAMED = 3


class Policy(StrEnum):
    """The treatment of a field also owned by another manager."""

    ENFORCE = "Enforce"
    """Overwrite the field with the desired value."""
    YIELD = "Yield"
    """Leave the field to the other manager and apply the rest."""
    HALT = "Halt"
    """Write nothing to the object until a person resolves the conflict."""


@dataclass(frozen=True)
class Rule:
    """The policy for a field, and all fields below it, of the children of one kind."""

    kind: str
    path: str
    policy: str


@dataclass(frozen=True)
class Policies:
    """The policies of one parent, as written in its spec. A newer CRD may allow policies unknown to this version."""

    default: str = Policy.ENFORCE
    rules: tuple[Rule, ...] = ()

    @property
    def enforce_all(self) -> bool:
        """Whether all fields are enforced."""
        return all(policy == Policy.ENFORCE for policy in (self.default, *(rule.policy for rule in self.rules)))

    def of(self, kind: str, field: str) -> Policy:
        """Return the policy for a field of a child. The rule with the longest matching path wins."""
        rules = [rule for rule in self.rules if rule.kind == kind and within(field, rule.path)]
        return _policy_or_halt(max(rules, key=lambda rule: len(rule.path)).policy if rules else self.default)

    def unknown(self) -> str:
        """Return a sentence about the policies unknown to this version; empty if all are known.

        Unknown policies count as Halt, the only policy that neither overwrites a field nor gives up its ownership.
        """
        named = {"spec.conflicts": self.default}
        for rule in self.rules:
            named[f"the rule for {rule.kind} {rule.path}"] = rule.policy
        unknown = [
            f"{abridged(str(policy))} ({source})" for source, policy in named.items() if policy not in list(Policy)
        ]
        if not unknown:
            return ""
        return (
            f"Unknown conflict policy: {enumerated(unknown, _NAMED)}. This version of the operator treats unknown "
            "policies as Halt. Upgrade the operator, or choose Enforce, Yield or Halt"
        )


def policies(conflicts: Mapping[str, Any]) -> Policies:
    """Parse `spec.conflicts`."""
    rules: Sequence[Mapping[str, str]] = conflicts.get("rules", [])
    parsed = tuple(Rule(rule["kind"], rule["path"], rule["policy"]) for rule in rules)
    return Policies(conflicts.get("policy", Policy.ENFORCE), parsed)


def within(field: str, path: str) -> bool:
    """Report whether a field, in readable form, equals `path` or is below it."""
    return field == path or (field.startswith(path) and field[len(path)] in ".[")


def overlaps(field: str, others: Iterable[str]) -> bool:
    """Report whether a field equals one of the others, contains it or is a part of it."""
    return any(within(field, other) or within(other, field) for other in others)


def _policy_or_halt(policy: object) -> Policy:
    return next((known for known in Policy if known == policy), Policy.HALT)
