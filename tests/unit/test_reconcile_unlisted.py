"""The reconcile while a kind of child cannot be listed."""

import pytest

from coxswain.webapp.kinds import SERVICE
from rendered import observe
from unit.bench import WEB, Bench


@pytest.fixture
def bench() -> Bench:
    """Return a bench of a converged WebApp without config, while ConfigMaps cannot be listed."""
    bench = Bench()
    bench.webapp(config={})
    bench.run()
    bench.roll_out()
    bench.run()
    assert bench.conditions()["Ready"] == ("True", "Ready")
    bench.coverage.not_listed = {"ConfigMap": "configmaps cannot be listed in the cluster: 403"}
    return bench


def test_a_webapp_that_needs_none_of_the_kind_stays_ready(bench: Bench) -> None:
    bench.run()
    assert bench.writer.sent == []
    assert bench.conditions()["Ready"] == ("True", "Ready")


def test_a_webapp_that_needs_one_says_so(bench: Bench) -> None:
    bench.webapp(version=500, generation=2)
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Ready"] == ("False", "NotListed")


def test_a_child_that_differs_is_not_ready(bench: Bench) -> None:
    """The simulation found a status with Ready for a new image that was not applied."""
    bench.webapp(version=500, generation=2, config={}, image="registry.example/web:2")
    bench.run()
    assert bench.writer.sent == ["status"]
    assert bench.conditions()["Ready"] == ("False", "NotListed")
    assert "403" in bench.message_of("Ready")


def test_a_name_taken_by_a_foreign_object_is_still_reported(bench: Bench) -> None:
    """The status said that the object did not exist."""
    owner = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Rollout",
        "name": "web",
        "uid": "rollout",
        "controller": True,
    }
    metadata = {
        "name": WEB.name,
        "namespace": WEB.namespace,
        "uid": "foreign",
        "resourceVersion": "900",
        "labels": {"coxswain.dev/webapp": "web"},
        "ownerReferences": [owner],
    }
    bench.store.observe(observe(SERVICE, {"metadata": metadata, "spec": {}}))
    bench.run()
    assert bench.writer.sent == ["status"]
    [service] = [each for each in bench.webapp_now().content["status"]["children"] if each["kind"] == "Service"]
    assert service["health"] == "Foreign"
    assert bench.conditions()["Ready"] == ("False", "NameTaken")
    assert bench.conditions()["Stalled"][0] == "True"
