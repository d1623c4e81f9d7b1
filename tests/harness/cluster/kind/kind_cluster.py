"""A kind cluster: real nodes in containers, with real kubelets and pods."""

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from cluster.catalog import KIND_PROGRAM, PROGRAMS, Program
from cluster.kind.engine import Engine, run
from cluster.kind.node_image import node_image
from cluster.kind.registry import registry_answers
from cluster.kubectl import run_kubectl
from cluster.programs import find_programs
from cluster.progress import Progress, silent

DEFAULT_NAME = "coxswain"
DEFAULT_KUBECONFIG = Path(".kind/kubeconfig")
"""The kubeconfig written by `make kind-up`."""

IMAGE_VARIABLE = "KIND_NODE_IMAGE"
READY_TIMEOUT_SECONDS = 240
WORKERS = 2


class KindCluster:
    """A kind cluster of one control plane node and `workers`.

    - `engine`: the Docker engine that runs the nodes as containers.
    - `name`: of the cluster; the nodes are NAME-control-plane, NAME-worker, NAME-worker2.
    - `kubeconfig`: the file for the cluster's kubeconfig; the user's own is never read or changed. kubectl's caches are
      beside it.

    Raises ProgramMissingError, HostError or DockerError, with the reason.
    """

    def __init__(
        self,
        engine: Engine,
        name: str,
        kubeconfig: Path,
        *,
        workers: int = WORKERS,
        progress: Progress = silent,
    ) -> None:
        self.engine = engine
        self.name = name
        self.kubeconfig = kubeconfig
        self._workers = workers
        self._progress = progress
        self._home = kubeconfig.with_name(f"{kubeconfig.name}.kubectl")

    @cached_property
    def kubectl_program(self) -> Path:
        """The path of kubectl."""
        return self._find(PROGRAMS["kubectl"])

    @cached_property
    def kind_program(self) -> Path:
        """The path of kind."""
        return self._find(KIND_PROGRAM)

    @property
    def exists(self) -> bool:
        """Return whether kind knows a cluster of this name."""
        return self.name in self._run_kind("get", "clusters").split()

    @property
    def nodes(self) -> list[str]:
        """Return the names of the nodes, which are also their containers' names; the control plane first."""
        return sorted(self._run_kind("get", "nodes", "--name", self.name).split())

    def create(self) -> None:
        """Create the cluster and wait until all nodes are Ready. Deletes it again on failure."""
        image = choose_node_image(self.engine, os.environ, self._progress)
        size = f"{1 + self._workers} nodes from {image or 'kindest/node'}"
        self._progress(f"creating the kind cluster {self.name} of {size}")
        started = time.monotonic()
        self.kubeconfig.parent.mkdir(parents=True, exist_ok=True)
        options = ["--config", "-", "--kubeconfig", str(self.kubeconfig), "--wait", f"{READY_TIMEOUT_SECONDS}s"]
        options += ["--image", image] if image else []
        configuration = yaml.safe_dump(cluster_configuration(self._workers)).encode()
        self._run_kind("create", "cluster", "--name", self.name, *options, stdin=configuration)
        self.kubectl("wait", "node", "--all", "--for=condition=Ready", f"--timeout={READY_TIMEOUT_SECONDS}s")
        self._progress(f"ready after {time.monotonic() - started:.0f} s")

    def ensure(self) -> None:
        """Create the cluster unless it exists; write its kubeconfig in both cases."""
        if self.exists:
            self._progress(f"{self.name} is already up")
            self._run_kind("export", "kubeconfig", "--name", self.name, "--kubeconfig", str(self.kubeconfig))
        else:
            self.create()

    def delete(self) -> None:
        """Delete the cluster if it exists, and its kubeconfig."""
        self._run_kind("delete", "cluster", "--name", self.name, "--kubeconfig", str(self.kubeconfig))
        self.kubeconfig.unlink(missing_ok=True)
        shutil.rmtree(self._home, ignore_errors=True)

    def load(self, *images: str, node: str = "") -> None:
        """Load images of the engine into a node, by default into every node."""
        only = ["--nodes", node] if node else []
        self._run_kind("load", "docker-image", *images, "--name", self.name, *only)

    def on_node(self, node: str, *command: str) -> str:
        """Return the output of a command run in a node. Raises DockerError."""
        return self.engine.docker("exec", node, *command)

    @contextmanager
    def frozen(self, node: str) -> Iterator[None]:
        """Freeze all processes of a node within the context, like a machine that is lost and comes back."""
        self.engine.docker("pause", node)
        try:
            yield
        finally:
            self.engine.docker("unpause", node)

    def kubectl(
        self, *arguments: str, stdin: str | None = None, check: bool = True, timeout_seconds: float = 120.0
    ) -> str:
        """Return the standard output of kubectl, with this cluster's kubeconfig. Raises KubectlError."""
        return run_kubectl(
            self.kubectl_program,
            arguments,
            kubeconfig=self.kubeconfig,
            home=self._home,
            stdin=stdin,
            check=check,
            timeout_seconds=timeout_seconds,
        )

    def _find(self, program: Program) -> Path:
        return find_programs(self._progress, programs=[program])[program.name].path

    def _run_kind(self, *arguments: str, stdin: bytes | None = None) -> str:
        return run([str(self.kind_program), *arguments], stdin=stdin, environment=self.engine.environment)


def cluster_configuration(workers: int) -> dict[str, Any]:
    """Return kind's configuration of a cluster (https://kind.sigs.k8s.io/docs/user/configuration/)."""
    nodes = [{"role": "control-plane"}, *({"role": "worker"} for _ in range(workers))]
    return {"kind": "Cluster", "apiVersion": "kind.x-k8s.io/v1alpha4", "nodes": nodes}


def choose_node_image(engine: Engine, environment: Mapping[str, str], progress: Progress) -> str | None:
    """Return the node image: KIND_NODE_IMAGE if set, else None for kind's default kindest/node.

    If no registry answers, return the image built here.
    """
    named = environment.get(IMAGE_VARIABLE)
    if named:
        return named
    if registry_answers():
        return None
    progress("no image registry answers: building the node image here, from Debian's packages and Go modules")
    return node_image(engine, environment, progress)
