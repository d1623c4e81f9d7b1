"""The policy of each field. Under any policies and writes of others, one apply converges a child."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.objects.field_paths import Path, is_key
from rendered import is_identity, plan_of, policy_of
from unit.objects import webapp
from unit.ownership import OURS, ConflictError, Model, Owner, leaves
from unit.planning import (
    APP,
    CONTAINERS,
    DEPLOYMENT,
    FLUX,
    IMAGE,
    KUBECTL,
    applied,
    carried_out,
    fields,
    planned,
)

IDENTITY = {
    "metadata.labels[coxswain.dev/webapp]": ("f:metadata", "f:labels", "f:coxswain.dev/webapp"),
    "metadata.labels[app.kubernetes.io/name]": ("f:metadata", "f:labels", "f:app.kubernetes.io/name"),
    "metadata.ownerReferences[uid=uid-1]": ("f:metadata", "f:ownerReferences", 'k:{"uid":"uid-1"}'),
    "spec.selector": ("f:spec", "f:selector"),
    "spec.template.metadata.labels[coxswain.dev/webapp]": (
        *("f:spec", "f:template", "f:metadata", "f:labels"),
        "f:coxswain.dev/webapp",
    ),
}


@pytest.mark.parametrize("place", IDENTITY)
@pytest.mark.parametrize("policy", ["Yield", "Halt"])
def test_identity_fields_are_always_enforced(place: str, policy: str) -> None:
    paths = ["metadata", "spec", "spec.template", place]
    rules = [{"kind": "Deployment", "path": path, "policy": policy} for path in paths]
    app = webapp(conflicts={"policy": policy, "rules": rules})
    assert policy_of(app, "Deployment", place) is Policy.ENFORCE
    model = applied()
    model.update(KUBECTL, {IDENTITY[place]: {"uid": "uid-1", "name": "x"} if "uid" in place else "x"})
    made = plan_of(DEPLOYMENT, model.observed(), lambda field: policy_of(app, "Deployment", field))
    assert (fields(made), made.left, made.halted) == ([place], (), ())


@pytest.mark.parametrize(
    ("field", "policy"),
    [
        ("spec.template.spec.containers[name=app].image", "Yield"),
        ("spec.template.spec.containers[name=app].imagePullPolicy", "Halt"),
        ("spec.template.spec.containers[name=app].args", "Halt"),
        ("spec.replicas", "Enforce"),
        ("metadata.annotations.team", "Yield"),
        ("metadata.annotations[team/a]", "Yield"),
        ("metadata.annotations.teams", "Enforce"),
    ],
)
def test_the_longest_path_decides(field: str, policy: str) -> None:
    rules = [
        {"kind": "Deployment", "path": "spec.template.spec.containers[name=app]", "policy": "Halt"},
        {"kind": "Deployment", "path": "spec.template.spec.containers[name=app].image", "policy": "Yield"},
        {"kind": "Deployment", "path": "spec", "policy": "Enforce"},
        {"kind": "Deployment", "path": "metadata.annotations.team", "policy": "Yield"},
        {"kind": "Deployment", "path": "metadata.annotations[team/a]", "policy": "Yield"},
        {"kind": "Service", "path": "metadata", "policy": "Halt"},
    ]
    for some in (rules, rules[::-1]):
        assert policy_of(webapp(conflicts={"policy": "Enforce", "rules": some}), "Deployment", field) == policy


def test_without_rules_the_default_policy_applies() -> None:
    assert policy_of(webapp(), "Service", "spec.type") is Policy.ENFORCE
    assert policy_of(webapp(conflicts={"policy": "Halt"}), "Service", "spec.type") is Policy.HALT


VALUES = {place: value for place, value in leaves(DEPLOYMENT).items() if isinstance(value, (str, int))}
OTHER = {
    (*CONTAINERS, 'k:{"name":"mesh"}', "."): None,
    (*CONTAINERS, 'k:{"name":"mesh"}', "f:name"): "mesh",
    (*APP, "f:env", 'k:{"name":"C"}', "."): None,
    (*APP, "f:env", 'k:{"name":"C"}', "f:name"): "C",
    ("f:metadata", "f:labels", "f:theirs"): "yes",
}
CHANGEABLE = sorted(place for place in VALUES if not is_key(place[-2], place[-1:]))
OWNERS = st.sampled_from([KUBECTL, FLUX, ("helm", "Update"), ("argocd-controller", "Apply")])
STEPS = st.tuples(
    OWNERS,
    st.dictionaries(st.sampled_from(CHANGEABLE), st.sampled_from(["as desired", "x", "y"]), max_size=4),
    st.booleans(),
)


def written_by(model: Model, owner: Owner, changes: dict[Path, str], more: bool) -> None:
    """Write as another manager. An apply uses force, and drops the fields that it no longer names."""
    wanted: dict[Path, Any] = {
        place: VALUES[place] if value == "as desired" else value for place, value in changes.items()
    }
    if more:
        wanted |= OTHER
    if owner[1] == "Apply":
        model.apply(owner, wanted, force=True)
    else:
        model.update(owner, wanted)


def _texts() -> dict[str, Path]:
    """Return the changeable paths, by their text in differences."""
    found = {}
    for place in CHANGEABLE:
        model = applied()
        model.update(KUBECTL, {place: "changed"})
        (text,) = fields(planned(model))
        found[text] = place
    return found


BY_TEXT = _texts()


@pytest.mark.thorough
@settings(max_examples=100, deadline=None)
@given(
    st.lists(STEPS, max_size=5),
    st.dictionaries(st.sampled_from(CHANGEABLE), st.sampled_from(list(Policy)), max_size=6),
    st.sampled_from([Policy.ENFORCE, Policy.YIELD]),
)
def test_one_apply_converges(
    steps: list[tuple[Owner, dict[Path, str], bool]], rules: dict[Path, Policy], usual: Policy
) -> None:
    model = applied()
    for owner, changes, more in steps:
        written_by(model, owner, changes, more)
    policies = {text: rules[place] for text, place in BY_TEXT.items() if place in rules}

    def policy(text: str) -> Policy:
        return Policy.ENFORCE if is_identity("Deployment", text) else policies.get(text, usual)

    before = copy.deepcopy(model)
    made = plan_of(DEPLOYMENT, model.observed(), policy)
    if made.halted:
        return
    if made.differences:
        carried_out(model, made)
    again = plan_of(DEPLOYMENT, model.observed(), policy)
    assert (again.differences, again.halted) == ((), ())
    for text, place in BY_TEXT.items():
        theirs = any(place in owned for owner, owned in before.owners.items() if owner != OURS)
        if theirs and policy(text) is Policy.YIELD:
            assert model.live[place] == before.live[place], "a field left to another manager keeps its value"
            assert place not in model.owners[OURS], "a field left to another manager is not ours"
        else:
            assert model.live[place] == VALUES[place], "any other field has the desired value"
            assert place in model.owners[OURS]
    foreign = OTHER.keys() & before.live.keys()
    assert all(model.live[place] == before.live[place] for place in foreign), "fields added by other managers stay"


def test_a_refusal_of_the_model_is_one_of_the_api_server() -> None:
    """Without force the model refuses other values of foreign fields; else the test above would prove nothing."""
    model = applied()
    model.update(KUBECTL, {IMAGE: "other:1"})
    with pytest.raises(ConflictError):
        model.apply(OURS, leaves(DEPLOYMENT), force=False)


UNKNOWN = [
    ({"policy": "Observe"}, "Observe (spec.conflicts)"),
    (
        {"rules": [{"kind": "Deployment", "path": "spec.replicas", "policy": "Observe"}]},
        "Observe (the rule for Deployment spec.replicas)",
    ),
]


@pytest.mark.parametrize(("conflicts", "told"), UNKNOWN, ids=["the whole", "a rule"])
def test_an_unknown_policy_counts_as_halt_and_is_reported(conflicts: Any, told: str) -> None:
    """A newer CRD may have more policies (K22)."""
    app = webapp(conflicts=conflicts)
    assert policy_of(app, "Deployment", "spec.replicas") is Policy.HALT
    assert not app.policies.enforce_all
    assert told in app.policies.unknown()


def test_known_policies_are_not_reported() -> None:
    assert webapp().policies.unknown() == ""
    assert [webapp(conflicts={"policy": policy.value}).policies.unknown() for policy in Policy] == [""] * 3
