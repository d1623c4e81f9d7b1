"""Events refine the cause of pods that are being prepared: only they name the volume, the object and the network."""

from typing import Any

import pytest

from coxswain.kernel.objects.event_record import ReportedEvent
from coxswain.webapp.diagnosis.cause import Cause, Rank
from coxswain.webapp.diagnosis.pod_events import refined
from unit.objects import webapp
from unit.pod_states import PODS

UNKNOWN = Cause(Rank.NOT_PREPARED, "ContainerCreating", "volumes or network have not been ready for 2 minutes")
TLS = {"name": "tls", "secret": {"secretName": "shop-tls"}}
SETTINGS = {"name": "settings", "configMap": {"name": "shop-settings"}}
DATA = {"name": "data", "persistentVolumeClaim": {"claimName": "shop"}}
MISSING = 'MountVolume.SetUp failed for volume "tls" : secret "shop-tls" not found'
SUMMARY = "Unable to attach or mount volumes: unmounted volumes=[tls], unattached volumes=[]: timed out waiting"
MULTI_ATTACH = 'Multi-Attach error for volume "pvc-1f2e" Volume is already used by pod(s) cart-7d4f'
NOT_MOUNTED, NOT_ATTACHED = (
    "a volume cannot be mounted. The kubelet retries. ",
    "a volume cannot be attached to the node. ",
)


def cause(template: dict[str, Any], *events: tuple[str, str]) -> tuple[str, str, str]:
    found = refined(UNKNOWN, [ReportedEvent(*event) for event in events], webapp(), template)
    assert found.rank is Rank.NOT_PREPARED
    return found.reason, found.text, found.quotation


def test_a_missing_secret_ends_with_the_command_about_it() -> None:
    step = "Create it and its keys, or correct spec.volumes: kubectl describe secret shop-tls -n shop"
    assert cause({"volumes": [DATA, TLS]}, ("FailedMount", MISSING)) == ("FailedMount", NOT_MOUNTED + step, MISSING)


def test_a_missing_key_of_a_configmap() -> None:
    note = 'MountVolume.SetUp failed for volume "settings" : references non-existent config key: a.toml'
    assert cause({"volumes": [SETTINGS]}, ("FailedMount", note))[1].endswith(
        "kubectl describe configmap shop-settings -n shop"
    )


def test_a_claim_that_is_attached_elsewhere() -> None:
    reason, text, quotation = cause({"volumes": [DATA]}, ("FailedAttachVolume", MULTI_ATTACH))
    assert (reason, quotation) == ("FailedAttachVolume", MULTI_ATTACH)
    assert text == (
        "a volume cannot be attached to the node. Kubernetes retries. "
        "A ReadWriteOnce claim attaches to one node at a time: let one pod use shop "
        "(spec.replicas 1, spec.rollout.strategy Recreate). See: kubectl describe pvc shop -n shop"
    )


@pytest.mark.parametrize(
    ("template", "fields"),
    [({}, ""), ({"runtimeClassName": "gvisor"}, " and spec.runtimeClassName")],
)
def test_a_network_that_cannot_be_set_up(template: dict[str, Any], fields: str) -> None:
    note = 'Failed to create pod sandbox: plugin type="bridge" failed (add): no addresses available'
    assert cause(template, ("FailedCreatePodSandBox", note)) == (
        "FailedCreatePodSandBox",
        (
            "the sandbox with the network cannot be created. The kubelet retries. "
            f"Check the network plugin of the node{fields}. See: kubectl describe pods {PODS}"
        ),
        note,
    )


def test_a_volume_of_others_ends_with_the_command_about_the_pods() -> None:
    note = 'MountVolume.SetUp failed for volume "istiod-ca-cert" : configmap "istio-ca-root-cert" not found'
    assert cause({}, ("FailedMount", note))[1] == f"{NOT_MOUNTED}See: kubectl describe pods {PODS}"


def test_the_newest_event_with_a_cause_counts() -> None:
    """The kubelet's summary follows every two minutes and names no cause."""
    template = {"volumes": [TLS, DATA]}
    found = cause(
        template, ("BackOff", "x"), ("FailedMount", SUMMARY), ("FailedMount", MISSING), ("FailedMount", "old")
    )
    assert found[2] == MISSING
    assert cause(template, ("FailedMount", SUMMARY))[2] == SUMMARY, "better than none"


def test_without_such_an_event_the_cause_stays() -> None:
    assert refined(UNKNOWN, [ReportedEvent("BackOff", "x")], webapp(), {}) == UNKNOWN
    assert refined(UNKNOWN, [], webapp(), {}) == UNKNOWN
