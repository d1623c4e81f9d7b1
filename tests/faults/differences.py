"""The differences between a WebApp and its children, for tests that play no script."""

from collections.abc import Sequence
from typing import Any

from cluster import ControlPlane
from cluster.clients import direct_session


def differences(cluster: ControlPlane, namespace: str, name: str, image: str) -> list[str]:
    """Return the differences of the Deployment and the Service from a WebApp with this image."""
    deployment = _get(cluster, f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}")
    found = [each["image"] for each in deployment["spec"]["template"]["spec"]["containers"]] if deployment else []
    wrong = [] if found == [image] else [f"Deployment has {_tag(found)} instead of {_tag([image])}"]
    service = _get(cluster, f"/api/v1/namespaces/{namespace}/services/{name}")
    return wrong if service else [*wrong, "no Service"]


def _get(cluster: ControlPlane, path: str) -> Any:
    with direct_session(cluster.ca_file, cluster.token) as session:
        answer = session.get(cluster.url + path, timeout=30)
    return answer.json() if answer.ok else None


def _tag(images: Sequence[str]) -> str:
    return images[0].rpartition("/")[2] if images else "no image"
