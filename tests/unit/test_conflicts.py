"""What is applied to a child that others write too: the policy of each field, and that it comes to rest."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coxswain.kube.conflicts import Plan, foreign_manager, plan
from coxswain.kube.fields import Path, is_key
from coxswain.webapp.children import desired
from coxswain.webapp.policy import Policy, is_identity, policy_of
from coxswain.webapp.spec import Manifest
from unit.objects import webapp
from unit.ownership import OURS, ConflictError, Model, Owner, leaves

SPEC: dict[str, Any] = {
    "ports": [{"name": "http", "containerPort": 8080}, {"name": "admin", "containerPort": 9090}],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "labels": {"team": "red"},
    "annotations": {"example.com/a": "b"},
    "args": ["serve"],
    "resources": {"limits": {"memory": "64Mi"}},
    "readinessProbe": {"httpGet": {"path": "/", "port": 8080}},
}
DEPLOYMENT: Manifest = desired(webapp(**SPEC))[-1]
KUBECTL: Owner = ("kubectl-edit", "Update")
FLUX: Owner = ("flux", "Apply")

POD = ("f:spec", "f:template", "f:spec")
CONTAINERS = (*POD, "f:containers")
APP = (*CONTAINERS, 'k:{"name":"app"}')
IMAGE, ARGS, REPLICAS = (*APP, "f:image"), (*APP, "f:args"), ("f:spec", "f:replicas")
ENV_A = (*APP, "f:env", 'k:{"name":"A"}')
TEAM = ("f:metadata", "f:labels", "f:team")
IMAGE_TEXT = "spec.template.spec.containers[name=app].image"


def applied(manifest: Manifest = DEPLOYMENT) -> Model:
    """Return a child as it is after our first apply."""
    model = Model(manifest["kind"], manifest["apiVersion"])
    model.apply(OURS, leaves(manifest), force=False)
    return model


def always(policy: Policy) -> Callable[[str], Policy]:
    return lambda _: policy


def planned(
    model: Model, policy: Policy = Policy.ENFORCE, *, contested: Sequence[str] = (), manifest: Manifest = DEPLOYMENT
) -> Plan:
    return plan(manifest, model.observed(), always(policy), contested)


def carried_out(model: Model, made: Plan) -> None:
    """Apply what was planned; 409 raises."""
    model.apply(OURS, leaves(made.manifest), force=made.force)


def fields(made: Plan) -> list[str]:
    return [difference.text for difference in made.differences]


def left(made: Plan) -> list[tuple[str, str]]:
    return [(held.difference.text, held.manager) for held in made.left]


def test_nothing_to_do_after_our_own_apply() -> None:
    made = planned(applied())
    assert (made.differences, made.left, made.halted, made.force) == ((), (), (), False)
    assert made.manifest == DEPLOYMENT


CHANGES: dict[str, tuple[Path, Any, str]] = {
    "a value": (IMAGE, "other:1", IMAGE_TEXT),
    "a number": (REPLICAS, 7, "spec.replicas"),
    "an entry of a map": (TEAM, "blue", "metadata.labels.team"),
    "a field of an item": ((*ENV_A, "f:value"), "9", "spec.template.spec.containers[name=app].env[name=A].value"),
    "an atomic list": (ARGS, ["other"], "spec.template.spec.containers[name=app].args"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_enforce_takes_it_back_by_force(change: str) -> None:
    path, value, shown = CHANGES[change]
    model = applied()
    model.update(KUBECTL, {path: value})
    made = planned(model)
    assert (fields(made), made.force, made.left) == ([shown], True, ())
    carried_out(model, made)
    assert model.live == leaves(DEPLOYMENT)


@pytest.mark.parametrize("change", CHANGES)
def test_yield_leaves_it_and_needs_no_write(change: str) -> None:
    path, value, shown = CHANGES[change]
    model = applied()
    model.update(KUBECTL, {path: value})
    made = planned(model, Policy.YIELD)
    assert left(made) == [(shown, "kubectl-edit")]
    assert (made.differences, made.force, made.halted) == ((), False, ())


@pytest.mark.parametrize("change", CHANGES)
def test_halt_writes_nothing_until_it_is_given_up(change: str) -> None:
    path, value, shown = CHANGES[change]
    model = applied()
    model.update(KUBECTL, {path: value})
    made = planned(model, Policy.HALT)
    assert [held.difference.text for held in made.halted] == [shown]
    model.update(KUBECTL, {path: leaves(DEPLOYMENT)[path]})
    assert planned(model, Policy.HALT).halted == ()


def test_yield_lets_go_of_what_both_hold() -> None:
    """An apply of the same value shares the field: as long as it is ours too, the other's next apply is refused."""
    model = applied()
    model.apply(FLUX, {IMAGE: DEPLOYMENT["spec"]["template"]["spec"]["containers"][0]["image"]}, force=False)
    assert (planned(model).differences, planned(model).left) == ((), ()), "under Enforce it stays ours too"
    made = planned(model, Policy.YIELD)
    assert (left(made), fields(made)) == ([(IMAGE_TEXT, "flux")], [IMAGE_TEXT])
    carried_out(model, made)
    model.apply(FLUX, {IMAGE: "other:1"}, force=False)
    assert planned(model, Policy.YIELD).differences == ()


def test_what_is_given_up_is_ours_again() -> None:
    model = applied()
    model.apply(FLUX, {IMAGE: "other:1"}, force=True)
    carried_out(model, planned(model, Policy.YIELD))
    model.apply(FLUX, {}, force=False)
    made = planned(model, Policy.YIELD)
    assert (fields(made), made.left, made.force) == ([IMAGE_TEXT], (), False)
    carried_out(model, made)
    assert model.live == leaves(DEPLOYMENT)


def test_a_removed_item_is_nobodys_under_every_policy() -> None:
    model = applied()
    model.update(KUBECTL, {place: None for place in model.live if place[: len(ENV_A)] == ENV_A})
    for place in [place for place in model.live if place[: len(ENV_A)] == ENV_A]:
        del model.live[place]
        for owned in model.owners.values():
            owned.discard(place)
    for policy in Policy:
        made = planned(model, policy)
        assert fields(made) == ["spec.template.spec.containers[name=app].env[name=A]"]
        assert (made.left, made.halted, made.force) == ((), (), False)


SIDECAR = {
    (*CONTAINERS, 'k:{"name":"mesh"}', "."): None,
    (*CONTAINERS, 'k:{"name":"mesh"}', "f:name"): "mesh",
    (*CONTAINERS, 'k:{"name":"mesh"}', "f:image"): "mesh:1",
    (*APP, "f:env", 'k:{"name":"MESH"}', "."): None,
    (*APP, "f:env", 'k:{"name":"MESH"}', "f:name"): "MESH",
    (*APP, "f:env", 'k:{"name":"MESH"}', "f:value"): "on",
    ("f:metadata", "f:labels", "f:mesh"): "on",
    ("f:metadata", "f:annotations", "f:mesh.example/status"): "injected",
}


@pytest.mark.parametrize("policy", Policy)
def test_what_others_add_is_no_conflict(policy: Policy) -> None:
    model = applied()
    model.update(("injector", "Update"), SIDECAR)
    made = planned(model, policy)
    assert (made.manifest, made.differences, made.left, made.halted) == (DEPLOYMENT, (), (), ())


@pytest.mark.parametrize("policy", Policy)
def test_another_order_is_no_conflict(policy: Policy) -> None:
    model = applied()
    env = [place for place in model.live if place[: len(ENV_A)] == ENV_A]
    model.live |= {place: model.live.pop(place) for place in env}
    made = planned(model, policy)
    assert [difference.order for difference in made.differences] == [True]
    assert (made.left, made.halted, made.force) == ((), (), False)


def test_a_manager_that_holds_a_map_and_nothing_in_it_holds_no_field() -> None:
    """`f:annotations: {}` is what is left of `kubectl annotate` when its annotation was taken."""
    model = applied()
    model.owners[KUBECTL] = {("f:metadata", "f:annotations")}
    for policy in Policy:
        made = planned(model, policy)
        assert (made.differences, made.left, made.halted) == ((), (), ())


@pytest.mark.parametrize("policy", Policy)
def test_what_stood_there_before_the_first_apply_is_nobodys(policy: Policy) -> None:
    """The entry that the API server makes when managedFields were stripped; a value that differs is its own too."""
    model = applied()
    model.update(KUBECTL, {IMAGE: "other:1"})
    model.owners = {}
    stripped = planned(model, policy)
    assert (stripped.force, stripped.left, stripped.halted) == (True, (), ())
    model.owners = {("before-first-apply", "Update"): set(model.live)}
    made = planned(model, policy)
    assert (made.force, made.left, made.halted) == (True, (), ())
    assert not any(foreign_manager(difference, model.observed()) for difference in made.differences)
    carried_out(model, made)
    made = planned(model, policy)
    assert (made.manifest, made.differences) == (DEPLOYMENT, ())


def test_a_field_that_is_left_alone_for_a_while() -> None:
    model = applied()
    model.update(KUBECTL, {IMAGE: "other:1", REPLICAS: 7})
    made = planned(model, contested=[IMAGE_TEXT])
    assert (left(made), fields(made)) == ([(IMAGE_TEXT, "kubectl-edit")], ["spec.replicas"])
    assert made.left[0].contested
    carried_out(model, made)
    assert (model.live[IMAGE], model.live[REPLICAS]) == ("other:1", 1)


def test_a_contested_field_that_nobody_holds_is_left_too() -> None:
    model = applied()
    model.update(KUBECTL, {IMAGE: None})
    made = planned(model, contested=[IMAGE_TEXT])
    assert (left(made), made.differences) == ([(IMAGE_TEXT, "unknown")], ())


def test_a_field_that_is_not_taken_back_is_not_contested() -> None:
    model = applied()
    model.update(KUBECTL, {IMAGE: "other:1"})
    assert [held.contested for held in planned(model, Policy.YIELD, contested=[IMAGE_TEXT]).left] == [False]
    assert planned(model, Policy.HALT, contested=[IMAGE_TEXT]).halted


def test_a_contested_field_that_is_as_desired_is_no_contest() -> None:
    assert planned(applied(), contested=[IMAGE_TEXT]).left == ()


@pytest.mark.parametrize("policy", [Policy.ENFORCE, Policy.HALT])
def test_the_same_value_in_other_hands_is_no_conflict_unless_it_yields(policy: Policy) -> None:
    model = applied()
    model.update(KUBECTL, {IMAGE: "other:1"})
    model.update(KUBECTL, {IMAGE: leaves(DEPLOYMENT)[IMAGE]})
    made = planned(model, policy)
    assert (fields(made), made.force, made.left, made.halted) == ([IMAGE_TEXT], False, (), ())


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
def test_what_a_child_is_found_by_is_always_enforced(place: str, policy: str) -> None:
    paths = ["metadata", "spec", "spec.template", place]
    rules = [{"kind": "Deployment", "path": path, "policy": policy} for path in paths]
    app = webapp(conflicts={"policy": policy, "rules": rules})
    assert policy_of(app, "Deployment", place) is Policy.ENFORCE
    model = applied()
    model.update(KUBECTL, {IDENTITY[place]: {"uid": "uid-1", "name": "x"} if "uid" in place else "x"})
    made = plan(DEPLOYMENT, model.observed(), lambda field: policy_of(app, "Deployment", field))
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


def test_without_rules_the_policy_of_the_whole_decides() -> None:
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
    """Let another manager write: an apply takes by force, and gives up what it named before and doesn't name now."""
    wanted = {place: VALUES[place] if value == "as desired" else value for place, value in changes.items()}
    if more:
        wanted |= OTHER
    if owner[1] == "Apply":
        model.apply(owner, wanted, force=True)
    else:
        model.update(owner, wanted)


def _texts() -> dict[str, Path]:
    """Return the places that can be changed, by how they are told."""
    found = {}
    for place in CHANGEABLE:
        model = applied()
        model.update(KUBECTL, {place: "changed"})
        (text,) = fields(planned(model))
        found[text] = place
    return found


BY_TEXT = _texts()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(STEPS, max_size=5),
    st.dictionaries(st.sampled_from(CHANGEABLE), st.sampled_from(list(Policy)), max_size=6),
    st.sampled_from([Policy.ENFORCE, Policy.YIELD]),
)
def test_after_one_apply_there_is_nothing_more_to_do(
    steps: list[tuple[Owner, dict[Path, str], bool]], rules: dict[Path, Policy], usual: Policy
) -> None:
    model = applied()
    for owner, changes, more in steps:
        written_by(model, owner, changes, more)
    policies = {text: rules[place] for text, place in BY_TEXT.items() if place in rules}

    def policy(text: str) -> Policy:
        return Policy.ENFORCE if is_identity("Deployment", text) else policies.get(text, usual)

    before = copy.deepcopy(model)
    made = plan(DEPLOYMENT, model.observed(), policy)
    if made.halted:
        return
    if made.differences:
        carried_out(model, made)
    again = plan(DEPLOYMENT, model.observed(), policy)
    assert (again.differences, again.halted) == ((), ())
    for text, place in BY_TEXT.items():
        theirs = any(place in owned for owner, owned in before.owners.items() if owner != OURS)
        if theirs and policy(text) is Policy.YIELD:
            assert model.live[place] == before.live[place], "what is left to others is as they have it"
            assert place not in model.owners[OURS], "and theirs alone"
        else:
            assert model.live[place] == VALUES[place], "all else is as desired"
            assert place in model.owners[OURS]
    foreign = OTHER.keys() & before.live.keys()
    assert all(model.live[place] == before.live[place] for place in foreign), "what others added stays"


def test_a_refusal_of_the_model_is_one_of_the_api_server() -> None:
    """Without force the model refuses what others own at another value; else the rule above would be worth nothing."""
    model = applied()
    model.update(KUBECTL, {IMAGE: "other:1"})
    with pytest.raises(ConflictError):
        model.apply(OURS, leaves(DEPLOYMENT), force=False)
