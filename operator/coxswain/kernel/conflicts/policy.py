"""Policies for fields that another manager owns as well: `spec.conflicts` of a parent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from coxswain.kernel.objects.quote import abridged

_NAMED = 3


class Policy(StrEnum):
    """The treatment of a field that another manager owns."""

    ENFORCE = "Enforce"
    """It is set back."""
    YIELD = "Yield"
    """It is left to the other manager; the rest is applied."""
    HALT = "Halt"
    """Nothing is written to that object until a person has decided."""


@dataclass(frozen=True)
class Rule:
    """The policy for a field of the children of one kind, and for everything inside it."""

    kind: str
    path: str
    policy: str


@dataclass(frozen=True)
class Policies:
    """The policies of one parent, as its spec names them; a newer CRD may have others than this version knows."""

    default: str = Policy.ENFORCE
    rules: tuple[Rule, ...] = ()

    @property
    def enforce_all(self) -> bool:
        """Whether every field is enforced."""
        return all(policy == Policy.ENFORCE for policy in (self.default, *(rule.policy for rule in self.rules)))

    def of(self, kind: str, field: str) -> Policy:
        """Return the policy for a field of a child: the rule with the longest path decides, in any order."""
        rules = [rule for rule in self.rules if rule.kind == kind and within(field, rule.path)]
        return _known(max(rules, key=lambda rule: len(rule.path)).policy if rules else self.default)

    def unknown(self) -> str:
        """Return a sentence about the policies that this version does not know; empty without any.

        They count as Halt: the only policy that neither takes a field from its owner nor gives it away.
        """
        named = {"spec.conflicts": self.default}
        for rule in self.rules:
            named[f"the rule for {rule.kind} {rule.path}"] = rule.policy
        unknown = [
            f"{abridged(str(policy))} ({place})" for place, policy in named.items() if policy not in list(Policy)
        ]
        if not unknown:
            return ""
        return (
            f"this version of coxswain does not know the policy {', '.join(unknown[:_NAMED])} and treats it as Halt; "
            "upgrade coxswain or choose Enforce, Yield or Halt"
        )


def policies(conflicts: Mapping[str, Any]) -> Policies:
    """Return the policies that `spec.conflicts` names."""
    rules: Sequence[Mapping[str, str]] = conflicts.get("rules", [])
    parsed = tuple(Rule(rule["kind"], rule["path"], rule["policy"]) for rule in rules)
    return Policies(conflicts.get("policy", Policy.ENFORCE), parsed)


def within(place: str, path: str) -> bool:
    """Tell whether a place, as a person writes it, is at `path` or inside of it."""
    return place == path or (place.startswith(path) and place[len(path)] in ".[")


def is_part_of(field: str, identity: Sequence[str]) -> bool:
    """Tell whether a field is, or contains, one of the fields that make a child what it is."""
    return any(within(field, path) or within(path, field) for path in identity)


def _known(policy: object) -> Policy:
    return next((known for known in Policy if known == policy), Policy.HALT)
