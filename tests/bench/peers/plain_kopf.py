"""A plain Kopf operator for WebApps, in the style of Kopf's tutorial, with the official synchronous client.

`python -m bench.peers.plain_kopf --kubeconfig FILE --children FILE`
"""

import argparse
import datetime
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import kopf
from kubernetes import client, config

from bench.peers.status import status

WEBAPPS = GROUP, VERSION, PLURAL = ("coxswain.dev", "v1", "webapps")
WEBAPP_LABEL = "coxswain.dev/webapp"

Manifest = dict[str, Any]
Write = Callable[..., object]


@dataclass(frozen=True)
class Peer:
    """The data of the handlers: a template of every WebApp's children, and the client's methods by kind."""

    template: str
    create: Mapping[str, Write]
    patch: Mapping[str, Write]
    webapps: client.CustomObjectsApi

    def children(self, webapp: Mapping[str, Any]) -> list[Manifest]:
        """Return the manifests of one WebApp."""
        metadata = webapp["metadata"]
        text = self.template.replace("NAMESPACE", metadata["namespace"]).replace("NAME", metadata["name"])
        text = text.replace("UID", metadata["uid"]).replace("IMAGE", webapp["spec"]["image"])
        manifests: list[Manifest] = json.loads(text)
        return manifests


def peer(template: str) -> Peer:
    """Return the peer for a template, with the loaded configuration of the client."""
    core, apps = client.CoreV1Api(), client.AppsV1Api()
    return Peer(
        template,
        {
            "ServiceAccount": core.create_namespaced_service_account,
            "ConfigMap": core.create_namespaced_config_map,
            "Service": core.create_namespaced_service,
            "Deployment": apps.create_namespaced_deployment,
        },
        {
            "ServiceAccount": core.patch_namespaced_service_account,
            "ConfigMap": core.patch_namespaced_config_map,
            "Service": core.patch_namespaced_service,
            "Deployment": apps.patch_namespaced_deployment,
        },
        client.CustomObjectsApi(),
    )


@kopf.on.login()
def login(**arguments: Any) -> kopf.ConnectionInfo | None:
    """Log in with the client's kubeconfig."""
    return kopf.login_with_kubeconfig(**arguments)


@kopf.on.create(*WEBAPPS)
def create(memo: kopf.Memo, body: kopf.Body, **_: Any) -> None:
    """Create the children; patch existing ones."""
    for manifest in memo.peer.children(body):
        kind, metadata = manifest["kind"], manifest["metadata"]
        try:
            memo.peer.create[kind](metadata["namespace"], manifest)
        except client.ApiException as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            memo.peer.patch[kind](metadata["name"], metadata["namespace"], manifest)


@kopf.on.resume(*WEBAPPS)
@kopf.on.update(*WEBAPPS)
def update(memo: kopf.Memo, body: kopf.Body, **_: Any) -> None:
    """Patch the children; create missing ones."""
    for manifest in memo.peer.children(body):
        kind, metadata = manifest["kind"], manifest["metadata"]
        try:
            memo.peer.patch[kind](metadata["name"], metadata["namespace"], manifest)
        except client.ApiException as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            memo.peer.create[kind](metadata["namespace"], manifest)


@kopf.on.event("apps", "v1", "deployments", labels={WEBAPP_LABEL: kopf.PRESENT})
def report(memo: kopf.Memo, event: kopf.RawEvent, body: kopf.Body, **_: Any) -> None:
    """Write the state of its Deployment into the WebApp's status, if it changed."""
    if event["type"] == "DELETED":
        return
    webapp = (GROUP, VERSION, body.metadata.namespace, PLURAL, body.metadata.labels[WEBAPP_LABEL])
    try:
        found: Any = memo.peer.webapps.get_namespaced_custom_object(*webapp)
        said = _status(found, body)
        if {key: found.get("status", {}).get(key) for key in said} != said:
            memo.peer.webapps.patch_namespaced_custom_object_status(*webapp, {"status": said})
    except client.ApiException as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise


def _status(webapp: Manifest, deployment: Mapping[str, Any]) -> Manifest:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    return status(
        webapp["metadata"]["generation"],
        deployment,
        webapp.get("status", {}),
        now,
        up_to_date=image == webapp["spec"]["image"],
    )


def main() -> None:
    """Run until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--children", type=Path, required=True)
    arguments = parser.parse_args()
    os.environ["KUBECONFIG"] = str(arguments.kubeconfig)
    config.load_kube_config(str(arguments.kubeconfig))
    kopf.configure(quiet=True)
    kopf.run(clusterwide=True, standalone=True, memo=kopf.Memo(peer=peer(arguments.children.read_text("utf-8"))))


if __name__ == "__main__":
    main()
