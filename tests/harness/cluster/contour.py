"""Contour and Envoy for a throwaway Kubernetes: a real controller of Gateways and Ingresses, and a real proxy."""

import socket
import ssl
import subprocess
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import yaml

from cluster.certificates import create_authority
from cluster.control_plane import ControlPlane
from cluster.ports import free_ports
from cluster.processes import Service, clean_environment
from cluster.readiness import fetch, wait_until

CONTROLLER = "projectcontour.io/gateway-controller"
NAMESPACE = "gateways"
GATEWAY = {"name": "public", "namespace": NAMESPACE}
CLASS = "contour"
PORTS = {"http": 8080, "https": 8443}
"""Contour adds 8000 to the port of a listener. In a cluster, Envoy's Service leads from one to the other."""
INGRESS_ADDRESS = "192.0.2.80"
"""The address that Contour reports for Ingresses, of a block for documentation."""
START_TIMEOUT_SECONDS = 60.0


def resources(hostname: str, certificate: str, key: str) -> list[dict[str, Any]]:
    """Return the classes, and a Gateway with two listeners for the hosts of a domain and for all namespaces.

    Contour 1.33.8 serves only the first path of an Ingress if the Gateway has no listener with TLS.
    """
    api = "gateway.networking.k8s.io/v1"
    common = {"hostname": hostname, "allowedRoutes": {"namespaces": {"from": "All"}}}
    tls = {"mode": "Terminate", "certificateRefs": [{"name": "tls"}]}
    listeners = [
        {"name": "http", "protocol": "HTTP", "port": 80, **common},
        {"name": "https", "protocol": "HTTPS", "port": 443, "tls": tls, **common},
    ]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "tls", "namespace": NAMESPACE},
            "type": "kubernetes.io/tls",
            "stringData": {"tls.crt": certificate, "tls.key": key},
        },
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IngressClass",
            "metadata": {"name": CLASS},
            "spec": {"controller": "projectcontour.io/ingress-controller"},
        },
        {
            "apiVersion": api,
            "kind": "GatewayClass",
            "metadata": {"name": CLASS},
            "spec": {"controllerName": CONTROLLER},
        },
        {
            "apiVersion": api,
            "kind": "Gateway",
            "metadata": GATEWAY,
            "spec": {"gatewayClassName": CLASS, "listeners": listeners},
        },
    ]


class Contour:
    """Contour and Envoy for the time of a `with`. The control plane needs the CRDs of `gateway_crds`.

    Envoy listens on `PORTS` of all addresses, so there is one in a network namespace. It reaches the pods of KWOK only
    in one of `cluster.network_namespace`. `programs` are the paths of `contour` and `envoy`; `hostname` is that of the
    Gateway's listeners, with a leading `*.`.
    """

    def __init__(self, plane: ControlPlane, programs: Mapping[str, Path], hostname: str = "*.example.com") -> None:
        self._plane = plane
        self._programs = programs
        self._hostname = hostname
        self._folder = plane.directory / "contour"
        self._services: list[Service] = []

    def __enter__(self) -> Self:
        self._folder.mkdir()
        certificate, key = create_authority(self._folder, "ca").issue(self._folder, "tls", (self._hostname,))
        texts = (file.read_text(encoding="utf-8") for file in (certificate, key))
        self._plane.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(resources(self._hostname, *texts)))
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def ca_file(self) -> Path:
        """The certificate of the authority that the listener with TLS has its certificate from."""
        return self._folder / "ca.crt"

    def stop(self) -> None:
        """End both. Idempotent."""
        while self._services:
            self._services.pop().stop()

    def tail(self) -> str:
        """Return the ends of both logs."""
        return "\n".join(f"{service.name}:\n{service.tail()}" for service in self._services)

    def _start(self) -> None:
        xds, health, metrics, debug, stats = free_ports(5)
        settings = self._folder / "contour.yaml"
        settings.write_text(yaml.safe_dump({"gateway": {"gatewayRef": GATEWAY}}), encoding="utf-8")
        self._run(
            "contour",
            *("serve", f"--kubeconfig={self._plane.kubeconfig}", f"--config-path={settings}"),
            *("--insecure", "--xds-address=127.0.0.1", f"--xds-port={xds}", "--disable-leader-election"),
            *(f"--ingress-class-name={CLASS}", f"--ingress-status-address={INGRESS_ADDRESS}"),
            *("--health-address=127.0.0.1", f"--health-port={health}"),
            *("--http-address=127.0.0.1", f"--http-port={metrics}"),
            *("--debug-http-address=127.0.0.1", f"--debug-http-port={debug}"),
            *("--stats-address=127.0.0.1", f"--stats-port={stats}"),
            # Contour asks for versions of these kinds that the standard channel no longer has.
            *(f"--disable-feature={kind}" for kind in ("tlsroutes", "tcproutes", "backendtlspolicies")),
        )
        bootstrap = self._folder / "envoy.json"
        command = ["bootstrap", str(bootstrap), "--xds-address=127.0.0.1", f"--xds-port={xds}"]
        subprocess.run(
            [str(self._programs["contour"]), *command, f"--admin-address={self._folder / 'admin.sock'}"],
            env=clean_environment(self._folder),
            check=True,
            capture_output=True,
        )
        node = ["--service-cluster", "contour", "--service-node", "envoy"]
        self._run("envoy", "-c", str(bootstrap), *node, "--concurrency", "2", "--log-level", "warn")
        # Contour opens a listener with its first route only, so the port says nothing.
        wait_until("Envoy", lambda: fetch(f"http://127.0.0.1:{stats}/ready"), self._services, START_TIMEOUT_SECONDS)

    def _run(self, name: str, *arguments: str) -> None:
        log = self._plane.layout.logs / f"{name}.log"
        service = Service(name, [str(self._programs[name]), *arguments], log=log, home=self._folder)
        self._services.append(service)
        service.start()


def ask(
    url: str, method: str = "GET", headers: dict[str, str] | None = None, ca_file: Path | None = None
) -> tuple[int, str]:
    """Send a request to Envoy for a URL; return the status and the text. No name is looked up."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=10)
    connection.sock = socket.create_connection(("127.0.0.1", PORTS[parts.scheme]), timeout=10)
    if parts.scheme == "https":
        trust = ssl.create_default_context(cafile=ca_file)
        connection.sock = trust.wrap_socket(connection.sock, server_hostname=parts.hostname)
    with closing(connection):
        connection.request(method, parts.path or "/", headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode().strip()
