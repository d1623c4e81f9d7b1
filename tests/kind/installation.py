"""Coxswain in the cluster, installed and removed like users do: with kubectl and manifests/."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from cluster.kind.kind_cluster import KindCluster
from integration.scene import eventually
from kind.namespace import Namespace

ROOT = Path(__file__).parents[2]
OVERLAY = ROOT / "manifests" / "overlays" / "cluster"
SLOTS = ROOT / "build" / "kind" / "slots"
_WITH_SLOTS = """
resources: [../../../manifests/overlays/cluster]
components: [../../../manifests/components/slots]
"""
NAMESPACE = "coxswain-system"
DEPLOYMENT = "deployment/coxswain"
CRD = "webapps.coxswain.dev"
SCRAPER = "scraper"
READY_SECONDS = 120
GONE_SECONDS = 90

_REQUESTS = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_RECONCILES = re.compile(r"^controller_runtime_reconcile_total\{.*\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')

_SCRAPE = """
import ssl, sys, urllib.request
request = urllib.request.Request("https://localhost:8443/metrics")
request.add_header("Authorization", "Bearer " + sys.stdin.read())
print(urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=20).read().decode())
"""

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
        """Restart the operator with a newly loaded image of the same name."""
        self.namespace.kubectl("rollout", "restart", DEPLOYMENT)
        self.ready()

    @contextmanager
    def with_slots(self) -> Iterator[None]:
        """Add the component `slots` within the context."""
        SLOTS.mkdir(parents=True, exist_ok=True)
        (SLOTS / "kustomization.yaml").write_text(_WITH_SLOTS, encoding="utf-8")
        try:
            self._kubectl("apply", "-k", str(SLOTS))
            self.ready()
            yield
        finally:
            self._kubectl("apply", "-k", str(OVERLAY))
            self.ready()
            self.pod()

    @property
    def image(self) -> str:
        """The image in the Deployment."""
        [container] = self.namespace.get("deployment", "coxswain")["spec"]["template"]["spec"]["containers"]
        return str(container["image"])

    def use(self, image: str) -> None:
        """Roll another loaded image out."""
        self.namespace.kubectl("set", "image", DEPLOYMENT, f"operator={image}")
        self.ready()

    def reconciles(self) -> int:
        """Return the number of reconciles of the leader."""
        return int(sum(float(value) for value in _RECONCILES.findall(self.metrics())))

    def metrics(self) -> str:
        """Return the metrics of the leader, as a scraper with the role for it gets them.

        The API server's proxy to pods sends no token, so the request comes from the pod itself.
        """
        subject = f"--serviceaccount={NAMESPACE}:{SCRAPER}"
        role = "--clusterrole=coxswain-metrics-reader"
        self.namespace.kubectl("create", "serviceaccount", SCRAPER)
        try:
            self._kubectl("create", "clusterrolebinding", SCRAPER, role, subject)
            token = self.namespace.kubectl("create", "token", SCRAPER).strip()
            pod = self.pod()["metadata"]["name"]
            return self.namespace.kubectl("exec", "--stdin", pod, "--", "python3", "-c", _SCRAPE, stdin=token)
        finally:
            self._kubectl("delete", "clusterrolebinding", SCRAPER, "--ignore-not-found")
            self.namespace.kubectl("delete", "serviceaccount", SCRAPER)

    def ready(self) -> None:
        """Wait until the present replicas are Ready, and those of an earlier version are gone."""
        self.namespace.kubectl("rollout", "status", DEPLOYMENT, f"--timeout={READY_SECONDS}s", timeout_seconds=150)

    def pod(self) -> dict[str, Any]:
        """Return the pod of the leader; wait for one. The identity in the Lease begins with its name."""
        return eventually(self._leader, "one of the replicas leads", timeout=60, pause=0.5)

    def _leader(self) -> dict[str, Any] | None:
        """Return the pod of the leader, or None between two leaders."""
        holder = self.namespace.get("lease", "coxswain")["spec"]["holderIdentity"].rpartition("_")[0]
        return {pod["metadata"]["name"]: pod for pod in self.namespace.list("pods")}.get(holder)

    def spread(self) -> None:
        """Move the standby to another node if both replicas are on one, as after a drain."""
        leader = self.pod()
        names = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in self.namespace.list("pods")}
        assert len(names) == 2, names
        if len(set(names.values())) == 1:
            (standby,) = names.keys() - {leader["metadata"]["name"]}
            self.namespace.kubectl("delete", "pod", standby)
            self.ready()
        nodes = {pod["spec"]["nodeName"] for pod in self.namespace.list("pods")}
        assert len(nodes) == 2, nodes

    def container(self) -> str:
        """Return the id of the leader's container."""
        return str(self.pod()["status"]["containerStatuses"][0]["containerID"])

    def remove_all(self) -> None:
        """Delete all applied objects with one command."""
        self._kubectl("delete", "-k", str(OVERLAY), f"--timeout={GONE_SECONDS}s")

    def remove_operator(self) -> None:
        """Delete all applied objects except the CRD: the namespace with its content, and the rights."""
        things = [
            thing
            for thing in yaml.safe_load_all(self._kubectl("kustomize", str(OVERLAY)))
            if thing["kind"] != "CustomResourceDefinition"
        ]
        text = yaml.safe_dump_all(things)
        self._kubectl("delete", "-f", "-", f"--timeout={GONE_SECONDS}s", stdin=text)

    def remove_crd(self) -> None:
        """Delete the CRD and, as a consequence, all WebApps."""
        self._kubectl("delete", "crd", CRD, f"--timeout={GONE_SECONDS}s")

    def writes(self) -> Counter[str]:
        """Return the number of successful server-side applies of each resource since the API server's start.

        Only the operator applies these resources here: by default, kubectl sends other requests. Refused ones may be
        for the namespace of the test before: while it terminates, its children may be deleted before the WebApp.
        """
        counted: Counter[str] = Counter()
        for labels, value in _REQUESTS.findall(self._kubectl("get", "--raw", "/metrics")):
            of = dict(_LABEL.findall(labels))
            if of["verb"] == "APPLY" and of["resource"] in WRITTEN and of["code"].startswith("2"):
                counted[of["resource"] + (f"/{of['subresource']}" if of["subresource"] else "")] += int(float(value))
        return counted
