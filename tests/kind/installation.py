"""Coxswain in the cluster, as users install and remove it: kubectl and manifests/."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from cluster.kind.kind_cluster import KindCluster
from kind.namespace import Namespace

OVERLAY = Path(__file__).parents[2] / "manifests" / "overlays" / "cluster"
NAMESPACE = "coxswain-system"
DEPLOYMENT = "deployment/coxswain"
CRD = "webapps.coxswain.dev"
READY_SECONDS = 120
GONE_SECONDS = 90

_REQUESTS = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')

WRITTEN = ("webapps", "serviceaccounts", "configmaps", "services", "deployments")


class Installation:
    """The operator in the cluster."""

    def __init__(self, cluster: KindCluster) -> None:
        self._kubectl = cluster.kubectl
        self.namespace = Namespace(cluster, NAMESPACE)

    def install(self) -> None:
        """Apply the manifests and wait until the operator is Ready."""
        self._kubectl("apply", "-k", str(OVERLAY))
        self.ready()

    def restart(self) -> None:
        """Start the operator anew, from an image of the same name that was loaded since."""
        self.namespace.kubectl("rollout", "restart", DEPLOYMENT)
        self.ready()

    def ready(self) -> None:
        """Wait until the operator is Ready, and no pod of it but that one is there."""
        self.namespace.kubectl("rollout", "status", DEPLOYMENT, f"--timeout={READY_SECONDS}s", timeout_seconds=150)

    def pod(self) -> dict[str, Any]:
        """Return the operator's pod that is not ending."""
        pods = [pod for pod in self.namespace.list("pods") if "deletionTimestamp" not in pod["metadata"]]
        assert len(pods) == 1, [pod["metadata"]["name"] for pod in pods]
        return pods[0]

    def container(self) -> str:
        """Return the id of the operator's container."""
        return str(self.pod()["status"]["containerStatuses"][0]["containerID"])

    def remove_all(self) -> None:
        """Delete what was applied, in one command."""
        self._kubectl("delete", "-k", str(OVERLAY), f"--timeout={GONE_SECONDS}s")

    def remove_operator(self) -> None:
        """Delete what was applied but the CRD: the namespace with all that is in it, and the rights."""
        things = [
            thing
            for thing in yaml.safe_load_all(self._kubectl("kustomize", str(OVERLAY)))
            if thing["kind"] != "CustomResourceDefinition"
        ]
        text = yaml.safe_dump_all(things)
        self._kubectl("delete", "-f", "-", f"--timeout={GONE_SECONDS}s", stdin=text)

    def remove_crd(self) -> None:
        """Delete the CRD, and with it all WebApps."""
        self._kubectl("delete", "crd", CRD, f"--timeout={GONE_SECONDS}s")

    def writes(self) -> Counter[str]:
        """Return how often each resource was applied on the server, since the API server's start.

        Of these resources nobody but the operator does that here: kubectl sends other requests, unless told otherwise.
        """
        counted: Counter[str] = Counter()
        for labels, value in _REQUESTS.findall(self._kubectl("get", "--raw", "/metrics")):
            of = dict(_LABEL.findall(labels))
            if of["verb"] == "APPLY" and of["resource"] in WRITTEN:
                counted[of["resource"] + (f"/{of['subresource']}" if of["subresource"] else "")] += int(float(value))
        return counted
