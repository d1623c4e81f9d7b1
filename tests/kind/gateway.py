"""Contour and Envoy in the kind cluster: their images, their objects and a Gateway."""

import json
import os
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from cluster.catalog import GATEWAY_PROGRAMS
from cluster.certificates import create_authority
from cluster.contour import GATEWAY, resources
from cluster.gateway_api import contour_access, gateway_crds
from cluster.kind.engine import Engine
from cluster.kind.kind_cluster import KindCluster
from cluster.kind.operator_image import base_argument
from cluster.programs import cache_programs
from cluster.progress import Progress
from kind.namespace import Namespace

NAMESPACE = "projectcontour"
DOMAIN = "example.com"
CONTOUR_IMAGE, ENVOY_IMAGE = "coxswain-test/contour:v1", "coxswain-test/envoy:v1"
ENVOY_DOCKERFILE = Path(__file__).with_name("envoy.Dockerfile")
MANIFESTS = Path(__file__).with_suffix(".yaml")
REMOVED_SECONDS = 90


def install(cluster: KindCluster, progress: Progress) -> str:
    """Install the CRDs, Contour, Envoy and a Gateway for the hosts of DOMAIN; return Envoy's HOST:PORT.

    Envoy runs on the control plane's node, and each node routes the node port to it.

    Raises:
        ProgramMissingError: Contour could not be built, or Envoy could not be downloaded.
        HostError, DockerError: the images could not be built.
        KubectlError: the Gateway is not programmed in time.
    """
    cluster.kubectl("apply", "--server-side", *_files(gateway_crds()))
    cluster.load(*build_images(cluster.engine, progress), node=cluster.nodes[0])
    cluster.kubectl("apply", *_files([*contour_access(), MANIFESTS]))
    with tempfile.TemporaryDirectory(prefix="coxswain-gateway-") as scratch:
        hosts = f"*.{DOMAIN}"
        pair = create_authority(Path(scratch), "ca").issue(Path(scratch), "tls", (hosts,))
        objects = resources(hosts, *(file.read_text(encoding="utf-8") for file in pair))
    cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))
    contour = Namespace(cluster, NAMESPACE)
    contour.wait("condition=Available", "deployment/contour", "deployment/envoy")
    gateways = Namespace(cluster, GATEWAY["namespace"])
    gateways.wait("condition=Programmed", f"gateway/{GATEWAY['name']}")
    [address] = gateways.get("gateway", GATEWAY["name"])["status"]["addresses"]
    ports = {port["name"]: port["nodePort"] for port in contour.get("service", "envoy")["spec"]["ports"]}
    return f"{address['value']}:{ports['http']}"


def remove(cluster: KindCluster) -> None:
    """Delete all objects of `install`, and with the CRDs all HTTPRoutes. Raises KubectlError."""
    objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": resources("", "", "")})
    cluster.kubectl("delete", "--wait=false", "-f", "-", stdin=objects)
    options = ("--ignore-not-found", f"--timeout={REMOVED_SECONDS}s")
    cluster.kubectl("delete", *options, *_files([MANIFESTS, *contour_access(), *gateway_crds()]))
    cluster.kubectl("wait", "--for=delete", f"namespace/{GATEWAY['namespace']}", f"--timeout={REMOVED_SECONDS}s")


def build_images(engine: Engine, progress: Progress) -> Sequence[str]:
    """Build the images of Contour, a static program, and of Envoy, on the base of the operator's image."""
    programs = {name: found.path for name, found in cache_programs([*GATEWAY_PROGRAMS.values()], progress).items()}
    with tempfile.TemporaryDirectory(prefix="coxswain-gateway-") as scratch:
        tree = Path(scratch) / "contour.tar"
        with tarfile.open(tree, "w") as files:
            files.add(programs["contour"], "contour")
        engine.import_tree(tree, CONTOUR_IMAGE, "USER 65532:65532", 'ENTRYPOINT ["/contour"]')
        context = Path(scratch) / "envoy.tar"
        # Docker takes a tar that begins with a PAX header, here for a fraction of a second, for a Dockerfile.
        with tarfile.open(context, "w", format=tarfile.GNU_FORMAT) as files:
            files.add(programs["envoy"], "envoy")
            files.add(ENVOY_DOCKERFILE, "Dockerfile")
        engine.build(context, ENVOY_IMAGE, **base_argument(engine, os.environ, progress))
    return [CONTOUR_IMAGE, ENVOY_IMAGE]


def _files(paths: Sequence[Path]) -> list[str]:
    return [f"--filename={path}" for path in paths]
