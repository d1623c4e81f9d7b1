"""A metrics API for a throwaway cluster: the test sets the usage of pods, and the HPA controller reads it.

It replaces metrics-server as an aggregated API for metrics.k8s.io. The APIService refers to a Service of type
ExternalName, which needs neither kube-proxy nor endpoints (endpoints reject loopback addresses).
"""

import base64
import json
import ssl
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from cluster.certificates import create_authority
from cluster.clients import direct_session
from cluster.control_plane import ControlPlane

GROUP = "metrics.k8s.io"
VERSION = "v1beta1"
ROOT = f"/apis/{GROUP}/{VERSION}"
SERVICE = ("kube-system", "metrics-api")

_READY_SECONDS = 30
_RESOURCES = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": f"{GROUP}/{VERSION}",
    "resources": [
        {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]}
    ],
}


class MetricsApi:
    """Serves metrics.k8s.io to a control plane during a `with`.

    The load of a namespace is divided among its running pods that match the request's selector. So more pods use less
    each, as behind a Service. A namespace without a load has no metrics, like pods that were never measured.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._load: dict[str, int] = {}

    def set_load(self, namespace: str, millicores: int) -> None:
        """Set the CPU use of all pods of a namespace together."""
        self._load[namespace] = millicores

    def __enter__(self) -> Self:
        pki = self._plane.layout.pki
        authority = create_authority(pki, "metrics-authority")
        namespace, name = SERVICE
        certificate, key = authority.issue(pki, "metrics", (f"{name}.{namespace}.svc",))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics API", daemon=True)
        self._thread.start()
        try:
            self._register(authority.certificate_file)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Before the server: an unavailable API blocks the deletion of namespaces.
        self._plane.kubectl("delete", "apiservice", f"{VERSION}.{GROUP}")
        self._end()

    def _end(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _register(self, certificate: Path) -> None:
        namespace, name = SERVICE
        port = self._server.server_address[1]
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        }
        registration = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{VERSION}.{GROUP}"},
            "spec": {
                "group": GROUP,
                "version": VERSION,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "service": {"namespace": namespace, "name": name, "port": port},
                "caBundle": base64.b64encode(certificate.read_bytes()).decode(),
            },
        }
        both = {"apiVersion": "v1", "kind": "List", "items": [service, registration]}
        self._plane.kubectl("apply", "-f", "-", input=json.dumps(both))
        self._plane.kubectl(
            "wait", "--for=condition=Available", f"--timeout={_READY_SECONDS}s", f"apiservice/{VERSION}.{GROUP}"
        )

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                found = api._answer(self.path)
                body = json.dumps(found if found is not None else {"kind": "Status", "code": 404}).encode()
                self.send_response(404 if found is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - as http.server calls it
                """Log nothing: the audit log has every request."""

        return Handler

    def _answer(self, target: str) -> dict[str, Any] | None:
        url = urlsplit(target)
        if url.path == ROOT:
            return _RESOURCES
        parts = url.path.removeprefix(ROOT).split("/")
        if len(parts) != 4 or (parts[1], parts[3]) != ("namespaces", "pods"):
            return None
        namespace = parts[2]
        pods = self._running(namespace, parse_qs(url.query).get("labelSelector", [""])[0])
        return pod_metrics(pods, self._load.get(namespace), datetime.now(UTC))

    def _running(self, namespace: str, selector: str) -> list[dict[str, Any]]:
        with direct_session(self._plane.ca_file, self._plane.token) as session:
            answer = session.get(
                f"{self._plane.url}/api/v1/namespaces/{namespace}/pods", params={"labelSelector": selector}, timeout=10
            )
            answer.raise_for_status()
        pods: list[dict[str, Any]] = answer.json()["items"]
        return [pod for pod in pods if _runs(pod)]


def _runs(pod: Mapping[str, Any]) -> bool:
    return pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def pod_metrics(pods: Sequence[dict[str, Any]], load: int | None, now: datetime) -> dict[str, Any]:
    """Return the PodMetricsList of pods that share a load in millicores; without a load, an empty list."""
    share = 0 if load is None or not pods else load // len(pods)
    items = [
        {
            "metadata": {key: pod["metadata"].get(key) for key in ("name", "namespace", "labels")},
            "timestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "window": "1s",
            "containers": [
                {"name": container["name"], "usage": {"cpu": f"{share}m", "memory": "1Mi"}}
                for container in pod["spec"]["containers"]
            ],
        }
        for pod in ([] if load is None else pods)
    ]
    return {"kind": "PodMetricsList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": items}
