"""What is applied to a child that others write too: the policy of each field decides."""

from typing import Any

import pytest

from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.conflicts.write_plan import foreign_manager
from coxswain.kernel.objects.field_paths import Path
from unit.ownership import OURS, leaves
from unit.planning import (
    APP,
    ARGS,
    CONTAINERS,
    DEPLOYMENT,
    ENV_A,
    FLUX,
    IMAGE,
    IMAGE_TEXT,
    KUBECTL,
    REPLICAS,
    TEAM,
    applied,
    carried_out,
    fields,
    left,
    planned,
)


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
    model.update(("injector", "Update"), SIDECAR)
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
    assert not any(foreign_manager(difference, model.observed(), ("coxswain",)) for difference in made.differences)
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


def test_a_contested_field_of_our_own_entry_keeps_its_live_value() -> None:
    """Another coxswain writes it under our name: an apply without the field would remove it (K8)."""
    model = applied()
    model.apply(OURS, {**leaves(DEPLOYMENT), IMAGE: "other:1"}, force=False)
    made = planned(model, contested=[IMAGE_TEXT])
    assert (left(made), made.differences) == ([(IMAGE_TEXT, "another coxswain")], ())
    model.update(KUBECTL, {REPLICAS: 7})
    made = planned(model, contested=[IMAGE_TEXT])
    assert fields(made) == ["spec.replicas"]
    carried_out(model, made)
    assert (model.live[IMAGE], model.live[REPLICAS]) == ("other:1", 1)
    assert IMAGE in model.owners[OURS]


def test_a_contested_field_that_only_the_other_version_desires_stays() -> None:
    """K8: it is in our entry and not in our manifest."""
    model = applied()
    more = {("f:spec", "f:minReadySeconds"): 1, (*ENV_A[:-1], 'k:{"name":"C"}', "f:name"): "C"}
    model.apply(OURS, {**leaves(DEPLOYMENT), **more}, force=False)
    contested = fields(planned(model))
    assert len(contested) == 2
    assert planned(model, contested=contested).differences == ()
    model.update(KUBECTL, {REPLICAS: 7})
    carried_out(model, planned(model, contested=contested))
    assert {place: model.live.get(place) for place in more} == more


def test_another_order_beside_a_contested_item_removes_nothing() -> None:
    model = applied()
    env = [place for place in model.live if place[: len(ENV_A)] == ENV_A]
    model.live |= {place: model.live.pop(place) for place in env}
    model.update(KUBECTL, {(*ENV_A, "f:value"): "9"})
    made = planned(model, contested=["spec.template.spec.containers[name=app].env[name=A].value"])
    (app,) = made.manifest["spec"]["template"]["spec"]["containers"]
    assert [item["name"] for item in app["env"]] == ["A", "B"]
