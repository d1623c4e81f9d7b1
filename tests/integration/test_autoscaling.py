"""A user's HorizontalPodAutoscaler for the Deployment owns its replicas; the count survives each change of ownership.

The HPA controller is real; the test sets the CPU usage of the pods.
"""

from signal import SIGKILL

import pytest

from cluster import AuditLog
from cluster.metrics_api import MetricsApi
from integration.autoscaled import NOTE, Counts, autoscaler, note, noted, owners, refusing_the_note, replicas, scaled
from integration.co_writing import told
from integration.scene import SPEC, Scene, eventually

pytestmark = pytest.mark.slow

QUIETLY = {"patch webapps/status"}


def quiet(scene: Scene, mark: AuditLog) -> None:
    """Assert that the operator has written only status since the mark, and settles."""
    assert scene.settled(mark).keys() <= QUIETLY


def no_conflict(scene: Scene) -> None:
    """Assert that the ownership of the replicas counts neither as drift nor as a conflict."""
    assert told(scene, "DriftCorrected") == []
    assert scene.condition("Conflicted")["status"] == "False"
    assert not scene.get("webapp")["status"].get("drift")


@pytest.fixture
def handed_over(scene: Scene, metrics: MetricsApi) -> Counts:
    """A WebApp with two replicas, whose Deployment an autoscaler has scaled to four."""
    scene.apply_ready(spec={**SPEC, "replicas": 2})
    counts = Counts(scene)
    metrics.set_load(scene.namespace, 400)
    scene.create(autoscaler())
    noted(scene, "autoscaled")
    scaled(scene, 4)
    return counts


def test_an_autoscaler_scales_and_the_operator_writes_nothing(
    scene: Scene, metrics: MetricsApi, handed_over: Counts
) -> None:
    scene.settled(scene.cluster.audit())
    mark = scene.cluster.audit()
    for load, count in ((700, 7), (100, 1), (300, 3)):
        metrics.set_load(scene.namespace, load)
        scaled(scene, count)
    quiet(scene, mark)
    assert handed_over.so_far() == [2, 4, 7, 1, 3]
    assert len(told(scene, "Autoscaled")) == 1
    no_conflict(scene)
    assert scene.get("webapp")["spec"]["replicas"] == 2


def test_the_transfer_takes_two_writes_and_the_count_stays(scene: Scene, metrics: MetricsApi) -> None:
    """If its only owner stopped applying it, the count would become 1."""
    scene.apply_ready(spec={**SPEC, "replicas": 3})
    metrics.set_load(scene.namespace, 300)
    counts, mark = Counts(scene), scene.cluster.audit()
    scene.create(autoscaler())
    noted(scene, "autoscaled")
    requests = scene.settled(mark)
    assert requests.pop("patch deployments") == 2
    assert requests.pop("create events") == 1
    assert requests.keys() <= QUIETLY
    assert counts.so_far() == [3]
    assert owners(scene) == {"coxswain-replicas"}


def test_an_autoscaler_that_was_made_while_the_operator_was_down(scene: Scene, metrics: MetricsApi) -> None:
    scene.apply_ready(spec={**SPEC, "replicas": 3})
    counts = Counts(scene)
    scene.operator.stop()
    metrics.set_load(scene.namespace, 500)
    scene.create(autoscaler())
    eventually(lambda: replicas(scene) == 5, "it scales")
    scene.operator.start()
    noted(scene, "autoscaled")
    scaled(scene, 5)
    assert counts.so_far() == [3, 5]


def test_an_operator_killed_between_the_two_writes_of_the_transfer(scene: Scene, metrics: MetricsApi) -> None:
    scene.apply_ready(spec={**SPEC, "replicas": 3})
    metrics.set_load(scene.namespace, 300)
    counts = Counts(scene)
    with refusing_the_note(scene):
        scene.create(autoscaler())
        scene.not_ready("AdmissionDenied")
        assert owners(scene) == {"coxswain", "coxswain-replicas"}
        scene.operator.stop(SIGKILL)
        assert note(scene) is None
    mark = scene.cluster.audit()
    scene.operator.start()
    noted(scene, "autoscaled")
    assert scene.settled(mark)["patch deployments"] == 1
    assert owners(scene) == {"coxswain-replicas"}
    assert counts.so_far() == [3]


def test_an_autoscaler_that_goes_leaves_its_count_until_the_spec_changes(scene: Scene, handed_over: Counts) -> None:
    pods = scene.names("pod")
    scene.settled(scene.cluster.audit())
    mark = scene.cluster.audit()
    scene.kubectl("delete", "hpa", "scaler")
    noted(scene, "kept=4,spec=2")
    requests = scene.settled(mark)
    assert requests.pop("patch deployments") == 1
    assert requests.pop("create events") == 1
    assert requests.keys() <= QUIETLY
    assert scene.names("pod") == pods
    (text,) = told(scene, "ReplicasKept")
    assert text.endswith(f"kubectl annotate deployment web -n {scene.namespace} coxswain.dev/replicas-")
    scene.kubectl("scale", "webapp", "web", "--replicas=3")
    scaled(scene, 3)
    assert note(scene) is None
    assert handed_over.so_far() == [2, 4, 3]
    no_conflict(scene)


@pytest.mark.parametrize("policy", ["Yield", "Halt"])
def test_the_replicas_return_after_the_deletion_of_the_autoscaler(
    scene: Scene, metrics: MetricsApi, policy: str
) -> None:
    """Its managedFields entry remains, and could keep the replicas forever."""
    spec = {**SPEC, "replicas": 2, "conflicts": {"policy": policy}}
    scene.apply_ready(spec=spec)
    metrics.set_load(scene.namespace, 400)
    scene.create(autoscaler())
    scaled(scene, 4)
    scene.kubectl("delete", "hpa", "scaler")
    noted(scene, "kept=4,spec=2")
    scene.apply_ready(spec={**spec, "replicas": 3})
    scaled(scene, 3)
    no_conflict(scene)


def test_an_autoscaler_that_goes_while_the_operator_is_down(scene: Scene, handed_over: Counts) -> None:
    scene.operator.stop(SIGKILL)
    scene.kubectl("delete", "hpa", "scaler")
    scene.operator.start()
    mark = scene.cluster.audit()
    noted(scene, "kept=4,spec=2")
    scene.settled(mark)
    mark = scene.cluster.audit()
    scene.operator.stop()
    scene.operator.start()
    quiet(scene, mark)
    assert handed_over.so_far() == [2, 4]


def test_the_count_that_is_kept_is_the_desired_one(scene: Scene, handed_over: Counts) -> None:
    scene.kubectl("delete", "hpa", "scaler")
    noted(scene, "kept=4,spec=2")
    scene.kubectl("scale", "deployment", "web", "--replicas=6")
    eventually(lambda: handed_over.so_far()[-2:] == [6, 4], "the count is restored")
    eventually(lambda: told(scene, "DriftCorrected"), "an Event")
    assert note(scene) == "kept=4,spec=2"


def test_an_autoscaler_that_comes_again_has_the_count_again(
    scene: Scene, metrics: MetricsApi, handed_over: Counts
) -> None:
    scene.kubectl("delete", "hpa", "scaler")
    noted(scene, "kept=4,spec=2")
    scene.create(autoscaler())
    noted(scene, "autoscaled")
    metrics.set_load(scene.namespace, 500)
    scaled(scene, 5)
    assert handed_over.so_far() == [2, 4, 5]


def test_a_person_may_scale_a_deployment_that_is_autoscaled(scene: Scene) -> None:
    """The autoscaler has no metrics and does nothing, but it still owns the count."""
    scene.apply_ready(spec={**SPEC, "replicas": 2})
    scene.create(autoscaler())
    noted(scene, "autoscaled")
    scene.settled(scene.cluster.audit())
    mark = scene.cluster.audit()
    for count in (5, 0, 3):
        scene.kubectl("scale", "deployment", "web", f"--replicas={count}")
        scaled(scene, count)
    quiet(scene, mark)
    scene.apply_ready(spec={**SPEC, "replicas": 2, "image": "registry.example/web:2"})
    assert replicas(scene) == 3


def test_a_replicas_note_of_another_writer_is_ignored(scene: Scene, handed_over: Counts) -> None:
    scene.kubectl("annotate", "--overwrite", "deployment", "web", f"{NOTE}=kept=1,spec=2")
    noted(scene, "autoscaled")
    scene.kubectl("annotate", "deployment", "web", f"{NOTE}-")
    noted(scene, "autoscaled")
    assert handed_over.so_far() == [2, 4]
    scene.apply("other")
    scene.ready("other")
    mark = scene.cluster.audit()
    scene.kubectl("annotate", "deployment", "other", f"{NOTE}=kept=3,spec=1")
    quiet(scene, mark)
    assert scene.get("deployment", "other")["spec"]["replicas"] == 1


def test_a_deployment_that_lost_its_label_keeps_the_count(scene: Scene, handed_over: Counts) -> None:
    """The cache then lacks the Deployment, and the operator must not decide as if it did not exist."""
    scene.kubectl("label", "deployment", "web", "coxswain.dev/webapp-")
    eventually(lambda: scene.names("deployment") == ["web"], "the label is restored")
    scene.ready()
    assert handed_over.so_far() == [2, 4]


def test_a_deployment_that_was_deleted_is_handed_over_again(scene: Scene, handed_over: Counts) -> None:
    old = scene.get("deployment")["metadata"]["uid"]
    scene.kubectl("delete", "deployment", "web")
    eventually(lambda: (scene.find("deployment") or {}).get("metadata", {}).get("uid", old) != old, "a new one")
    noted(scene, "autoscaled")
    scaled(scene, 4)
    assert 1 not in handed_over.so_far()


def test_an_autoscaler_of_the_webapp_works_as_before(scene: Scene, metrics: MetricsApi) -> None:
    scene.apply_ready()
    metrics.set_load(scene.namespace, 300)
    scene.create(autoscaler("WebApp"))
    scaled(scene, 3)
    assert scene.get("webapp")["spec"]["replicas"] == 3
    assert note(scene) is None
    scene.kubectl("delete", "hpa", "scaler")
    scene.kubectl("scale", "webapp", "web", "--replicas=2")
    scaled(scene, 2)
