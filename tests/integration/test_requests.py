"""What things cost, counted in the audit log."""

from collections import Counter

from integration.scene import SPEC, Scene


def test_creation_costs_four_child_writes(scene: Scene) -> None:
    mark = scene.cluster.audit()
    scene.apply_ready()
    requests = scene.settled(mark)
    statuses, events = requests.pop("patch webapps/status"), requests.pop("create events", 0)
    assert requests == Counter(
        {"patch serviceaccounts": 1, "patch configmaps": 1, "patch services": 1, "patch deployments": 1}
    )
    assert statuses <= 2
    assert events <= 1


def test_a_changed_image_costs_one_child_write(scene: Scene) -> None:
    scene.apply_ready()
    mark = scene.cluster.audit()
    scene.apply_ready(spec={**SPEC, "image": "registry.example/web:2"})
    requests = scene.settled(mark)
    assert requests.pop("patch webapps/status") <= 2
    assert requests == Counter({"patch deployments": 1})
