"""A WebApp of the demo is reached by its public URLs, through Contour and Envoy."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from cluster import network_namespace
from cluster.catalog import CONTOUR, ENVOY, GATEWAY_PROGRAMS, PROGRAMS
from cluster.contour import CLASS, GATEWAY, PORTS, Contour, ask
from cluster.control_plane import ControlPlane
from cluster.gateway_api import gateway_crds
from cluster.pod_server import PodServer
from cluster.programs import absent_programs, find_programs
from demo.samples import NAMESPACE, POLL_SECONDS, Kubectl, say
from demo.tree import readiness

TIMEOUT_SECONDS = 60.0
POD_PORT = 9100
"""Envoy has the port of the samples, 8080."""

WEBAPP = {
    "apiVersion": "coxswain.dev/v1",
    "kind": "WebApp",
    "metadata": {"name": "public"},
    "spec": {
        "image": "registry.example/web:v1",
        "runAsUser": 1000,
        "replicas": 2,
        "ports": [{"name": "http", "containerPort": POD_PORT}],
        "routes": [{"hostnames": ["public.example.com"], "parentRefs": [GATEWAY]}],
        "ingress": {"className": CLASS, "hosts": [{"host": "ingress.example.com"}]},
    },
}


def obstacle() -> str:
    """Return why the public URLs need a download or do not work on this machine, or "" if they work."""
    try:
        missing = absent_programs(tuple(GATEWAY_PROGRAMS.values()))
        if missing:
            return f"{' and '.join(missing)}: not in the cache of programs"
        gateway_crds()
    except RuntimeError as error:
        return str(error)
    refusal = network_namespace.refusal()
    return f"no network namespace: {refusal}" if refusal else ""


def enter_namespace(arguments: Sequence[str]) -> NoReturn:
    """Get everything that needs the network, and start the demo again in a network namespace."""
    find_programs(lambda line: say(f"  {line}"), programs=(*PROGRAMS.values(), *GATEWAY_PROGRAMS.values()))
    gateway_crds()
    network_namespace.main([sys.executable, "-m", "demo", *arguments, "--gateway"])


@contextmanager
def public_webapp(cluster: ControlPlane) -> Iterator[None]:
    """Run Contour and Envoy, and send a request to each public URL of a WebApp."""
    say(f"\nContour {CONTOUR.version} and Envoy {ENVOY.version}, and a WebApp with a route and an Ingress:")
    programs = {name: found.path for name, found in find_programs(programs=tuple(GATEWAY_PROGRAMS.values())).items()}
    with PodServer(cluster, [POD_PORT]), Contour(cluster, programs):
        started = time.monotonic()
        cluster.kubectl("apply", "-n", NAMESPACE, "-f", "-", input=json.dumps(WEBAPP))
        for url in _public_urls(cluster.kubectl, time.monotonic() + TIMEOUT_SECONDS):
            say(f"  {url}: answered by {_answer(url, time.monotonic() + TIMEOUT_SECONDS)}")
        say(f"  after {time.monotonic() - started:.1f} s; one server of the demo answers for all pods")
        yield


def entrance(pid: int) -> list[str]:
    """Return the commands for a second terminal: into the namespace, and a request."""
    user = ["--user", "--preserve-credentials"] if _is_user_namespace() else []
    return [
        " ".join(["nsenter", f"--target={pid}", "--net", *user, "bash"]),
        f"curl --connect-to ::127.0.0.1:{PORTS['http']} http://public.example.com",
    ]


def _is_user_namespace() -> bool:
    """Tell whether an ordinary user started this. The first user namespace maps all users, another one only that."""
    return Path("/proc/self/uid_map").read_text(encoding="utf-8").split()[2] == "1"


def _public_urls(kubectl: Kubectl, deadline: float) -> list[str]:
    while True:
        webapp = json.loads(kubectl("get", "webapp", "public", "-n", NAMESPACE, "-o", "json"))
        why = readiness(webapp)[1]
        if why is None:
            return [url for url in webapp["status"]["urls"] if not url.endswith(f".svc:{POD_PORT}")]
        if time.monotonic() > deadline:
            raise TimeoutError(f"WebApp public: {why}")
        time.sleep(POLL_SECONDS)


def _answer(url: str, deadline: float) -> str:
    """Return the first good answer: the status of a route is written shortly before Envoy has the route."""
    while True:
        status, text = ask(url)
        if status == 200:
            return text
        if time.monotonic() > deadline:
            raise TimeoutError(f"{url}: status {status}")
        time.sleep(POLL_SECONDS)
