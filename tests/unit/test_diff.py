"""Equal: each desired value is live, our entry owns exactly the desired fields, and our items are in our order."""

import copy
from typing import Any

import pytest

from coxswain.kernel.conflicts.diff import differences, managers
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry
from coxswain.kernel.objects.manifests import Manifest
from rendered import desired
from unit.objects import fields_of, stored, webapp

APP = webapp(
    ports=[{"name": "http", "containerPort": 8080}, {"name": "admin", "containerPort": 9090}],
    env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    labels={"team": "red"},
)
DEPLOYMENT: Manifest = desired(APP)[-1]


def found(live: Manifest, wanted: Manifest = DEPLOYMENT, owned: Any = None) -> list[str]:
    """Return the fields where the live object differs."""
    fields = owned if owned is not None else live["metadata"]["managedFields"][0]["fieldsV1"]
    return [difference.text for difference in differences(wanted, live, fields)]


@pytest.fixture
def live() -> Manifest:
    """Return the Deployment as stored after our apply."""
    return copy.deepcopy(stored(DEPLOYMENT))


def app(live: Manifest) -> dict[str, Any]:
    """Return our container."""
    container: dict[str, Any] = live["spec"]["template"]["spec"]["containers"][-1]
    return container


def test_a_freshly_applied_object_is_equal(live: Manifest) -> None:
    assert found(live) == []


def test_defaults_of_the_server_are_no_difference(live: Manifest) -> None:
    live["spec"]["template"]["spec"]["dnsPolicy"] = "ClusterFirst"
    app(live)["terminationMessagePath"] = "/dev/termination-log"
    assert found(live) == []


def test_foreign_labels_are_no_difference(live: Manifest) -> None:
    live["metadata"]["labels"]["theirs"] = "yes"
    assert found(live) == []


def test_an_injected_sidecar_is_no_difference(live: Manifest) -> None:
    live["spec"]["template"]["spec"]["containers"].insert(0, {"name": "mesh", "image": "proxy:1"})
    app(live)["env"].insert(1, {"name": "INJECTED", "value": "x"})
    assert found(live) == []


def test_a_changed_value(live: Manifest) -> None:
    app(live)["image"] = "evil:1"
    assert found(live) == ["spec.template.spec.containers[name=app].image"]


def test_a_field_that_another_manager_took_with_the_same_value(live: Manifest) -> None:
    del live["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:replicas"]
    assert found(live) == ["spec.replicas"]


def test_a_field_that_is_no_longer_desired_but_still_ours(live: Manifest) -> None:
    without = copy.deepcopy(DEPLOYMENT)
    del without["metadata"]["labels"]["team"]
    [difference] = differences(without, live, fields_of(DEPLOYMENT))
    assert (difference.text, difference.wanted, difference.found) == ("metadata.labels.team", None, "red")


def test_an_item_that_is_no_longer_desired(live: Manifest) -> None:
    without = copy.deepcopy(DEPLOYMENT)
    app(without)["env"].pop()
    assert found(live, without) == ["spec.template.spec.containers[name=app].env[name=B]"]


def test_an_item_that_is_new(live: Manifest) -> None:
    more = copy.deepcopy(DEPLOYMENT)
    app(more)["env"].append({"name": "C", "value": "3"})
    assert found(live, more) == ["spec.template.spec.containers[name=app].env[name=C]"]


def test_an_item_that_someone_removed(live: Manifest) -> None:
    app(live)["env"].pop()
    assert "spec.template.spec.containers[name=app].env[name=B]" in found(live)[0]


def test_items_of_ours_in_another_order(live: Manifest) -> None:
    app(live)["env"].reverse()
    assert found(live) == ["spec.template.spec.containers[name=app].env (order)"]


def test_a_key_of_two_parts(live: Manifest) -> None:
    app(live)["ports"][0]["name"] = "web"
    assert found(live) == ["spec.template.spec.containers[name=app].ports[containerPort=8080,protocol=TCP].name"]


def test_an_atomic_part_is_compared_as_a_whole(live: Manifest) -> None:
    live["spec"]["selector"]["matchLabels"]["more"] = "x"
    assert found(live) == ["spec.selector"]


def test_a_stripped_owner_reference(live: Manifest) -> None:
    live["metadata"]["ownerReferences"] = []
    fields = copy.deepcopy(fields_of(DEPLOYMENT))
    del fields["f:metadata"]["f:ownerReferences"]
    assert found(live, owned=fields) == ["metadata.ownerReferences"]


def test_without_an_entry_of_ours_everything_differs(live: Manifest) -> None:
    assert found(live, owned={}) == ["metadata", "spec"]


def test_an_entry_that_grew_an_owned_whole_list(live: Manifest) -> None:
    without = copy.deepcopy(DEPLOYMENT)
    del app(without)["env"]
    assert found(live, without) == ["spec.template.spec.containers[name=app].env"]


def test_a_label_with_a_domain_is_shown_in_brackets(live: Manifest) -> None:
    live["metadata"]["labels"]["app.kubernetes.io/name"] = "other"
    assert found(live) == ["metadata.labels[app.kubernetes.io/name]"]


def test_the_owner_of_a_difference(live: Manifest) -> None:
    app(live)["image"] = "evil:1"
    [difference] = differences(DEPLOYMENT, live, fields_of(DEPLOYMENT))
    theirs: dict[str, Any] = {
        "f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"app"}': {"f:image": {}}}}}}
    }
    others: dict[str, Any] = {"f:metadata": {"f:labels": {"f:theirs": {}}}}
    assert managers(
        difference, [ManagedFieldsEntry("labeller", others), ManagedFieldsEntry("kubectl-set", theirs)]
    ) == ["kubectl-set"]
    assert managers(difference, [ManagedFieldsEntry("labeller", others)]) == []


def test_the_merge_key_belongs_to_the_creator_of_the_item(live: Manifest) -> None:
    """Another manager created the container, so its name is not in our entry. This is no difference."""
    owned = copy.deepcopy(live["metadata"]["managedFields"][0]["fieldsV1"])
    containers = owned["f:spec"]["f:template"]["f:spec"]["f:containers"]
    item = next(iter(containers))
    del containers[item]["f:name"]
    assert found(live, owned=owned) == []
