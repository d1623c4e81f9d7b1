"""The apply of a child with several writers: the policy of each field decides."""

from typing import Any

import pytest

from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.conflicts.write_plan import other_manager
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
def test_enforce_applies_with_force(change: str) -> None:
    path, value, shown = CHANGES[change]
    model = applied()
    model.update(KUBECTL, {path: value})
    made = planned(model)
    assert (fields(made), made.force, made.left) == ([shown], True, ())
    carried_out(model, made)
    assert model.live == leaves(DEPLOYMENT)


@pytest.mark.parametrize("change", CHANGES)
def test_yield_leaves_the_field_without_a_write(change: str) -> None:
    path, value, shown = CHANGES[change]
    model = applied()
    model.update(KUBECTL, {path: value})
    made = planned(model, Policy.YIELD)
    assert left(made) == [(shown, "kubectl-edit")]
    assert (made.differences, made.force, made.halted) == ((), False, ())


@pytest.mark.parametrize("change", CHANGES)
def test_halt_writes_nothing_until_the_other_manager_releases_the_field(change: str) -> None:
    path, value, shown = CHANGES[change]
    model = applied()
    model.update(KUBECTL, {path: value})
    made = planned(model, Policy.HALT)
    assert [held.difference.text for held in made.halted] == [shown]
    model.update(KUBECTL, {path: leaves(DEPLOYMENT)[path]})
    assert planned(model, Policy.HALT).halted == ()


def test_yield_releases_shared_fields() -> None:
    """An apply of the same value shares the field. While we own it too, the other manager's next apply is refused."""
    model = applied()
    model.apply(FLUX, {IMAGE: DEPLOYMENT["spec"]["template"]["spec"]["containers"][0]["image"]}, force=False)
    assert (planned(model).differences, planned(model).left) == ((), ()), "under Enforce we stay one of the owners"
    made = planned(model, Policy.YIELD)
    assert (left(made), fields(made)) == ([(IMAGE_TEXT, "flux")], [IMAGE_TEXT])
    carried_out(model, made)
    model.apply(FLUX, {IMAGE: "other:1"}, force=False)
    assert planned(model, Policy.YIELD).differences == ()


def test_a_released_field_is_enforced_again() -> None:
    model = applied()
    model.apply(FLUX, {IMAGE: "other:1"}, force=True)
    carried_out(model, planned(model, Policy.YIELD))
    model.apply(FLUX, {}, force=False)
    made = planned(model, Policy.YIELD)
    assert (fields(made), made.left, made.force) == ([IMAGE_TEXT], (), False)
    carried_out(model, made)
    assert model.live == leaves(DEPLOYMENT)


def test_a_removed_item_is_restored_under_every_policy() -> None:
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
def test_additions_by_others_are_no_conflict(policy: Policy) -> None:
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


def test_an_owner_of_an_empty_map_owns_no_field() -> None:
    """`kubectl annotate` still owns `f:annotations: {}` after another manager took its annotation."""
    model = applied()
    model.owners[KUBECTL] = {("f:metadata", "f:annotations")}
    for policy in Policy:
        made = planned(model, policy)
        assert (made.differences, made.left, made.halted) == ((), (), ())


@pytest.mark.parametrize("policy", Policy)
def test_fields_from_before_the_first_apply_have_no_other_owner(policy: Policy) -> None:
    """The API server adds this entry if managedFields were stripped. It owns a differing value too."""
    model = applied()
    model.update(KUBECTL, {IMAGE: "other:1"})
    model.owners = {}
    stripped = planned(model, policy)
    assert (stripped.force, stripped.left, stripped.halted) == (True, (), ())
    model.owners = {("before-first-apply", "Update"): set(model.live)}
    made = planned(model, policy)
    assert (made.force, made.left, made.halted) == (True, (), ())
    assert not any(other_manager(difference, model.observed(), ("coxswain",)) for difference in made.differences)
    carried_out(model, made)
    made = planned(model, policy)
    assert (made.manifest, made.differences) == (DEPLOYMENT, ())


def test_a_contested_field_is_not_enforced_during_the_suspension() -> None:
    model = applied()
    model.update(KUBECTL, {IMAGE: "other:1", REPLICAS: 7})
    made = planned(model, contested=[IMAGE_TEXT])
    assert (left(made), fields(made)) == ([(IMAGE_TEXT, "kubectl-edit")], ["spec.replicas"])
    assert made.left[0].contested
    carried_out(model, made)
    assert (model.live[IMAGE], model.live[REPLICAS]) == ("other:1", 1)


def test_a_contested_field_without_an_owner_is_left_too() -> None:
    model = applied()
    model.update(KUBECTL, {IMAGE: None})
    made = planned(model, contested=[IMAGE_TEXT])
    assert (left(made), made.differences) == ([(IMAGE_TEXT, "unknown")], ())


def test_a_field_that_is_not_enforced_is_not_contested() -> None:
    model = applied()
    model.update(KUBECTL, {IMAGE: "other:1"})
    assert [held.contested for held in planned(model, Policy.YIELD, contested=[IMAGE_TEXT]).left] == [False]
    assert planned(model, Policy.HALT, contested=[IMAGE_TEXT]).halted


def test_a_contested_field_at_the_desired_value_is_not_reported() -> None:
    assert planned(applied(), contested=[IMAGE_TEXT]).left == ()


@pytest.mark.parametrize("policy", [Policy.ENFORCE, Policy.HALT])
def test_an_equal_value_of_another_owner_is_a_conflict_only_under_yield(policy: Policy) -> None:
    model = applied()
    model.update(KUBECTL, {IMAGE: "other:1"})
    model.update(KUBECTL, {IMAGE: leaves(DEPLOYMENT)[IMAGE]})
    made = planned(model, policy)
    assert (fields(made), made.force, made.left, made.halted) == ([IMAGE_TEXT], False, (), ())


def test_a_contested_field_of_our_own_entry_keeps_its_live_value() -> None:
    """Another operator writes the field under our field manager: an apply without the field would remove it (K8)."""
    model = applied()
    model.apply(OURS, {**leaves(DEPLOYMENT), IMAGE: "other:1"}, force=False)
    made = planned(model, contested=[IMAGE_TEXT])
    assert (left(made), made.differences) == ([(IMAGE_TEXT, "another operator")], ())
    model.update(KUBECTL, {REPLICAS: 7})
    made = planned(model, contested=[IMAGE_TEXT])
    assert fields(made) == ["spec.replicas"]
    carried_out(model, made)
    assert (model.live[IMAGE], model.live[REPLICAS]) == ("other:1", 1)
    assert IMAGE in model.owners[OURS]


def test_a_contested_field_that_only_the_other_version_desires_stays() -> None:
    """K8: the field is in our entry but not in our manifest."""
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
