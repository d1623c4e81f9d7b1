"""A kind cluster: real nodes in containers, with real kubelets and pods."""

import os
import shutil
import time
from collections.abc import Mapping
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
"""What `make kind-up` makes."""

IMAGE_VARIABLE = "KIND_NODE_IMAGE"
READY_TIMEOUT_SECONDS = 240
WORKERS = 2


class KindCluster:
    """A kind cluster of one control plane node and `workers`.

    - `engine`: the Docker engine whose containers are the nodes.
    - `name`: of the cluster; the nodes are called NAME-control-plane, NAME-worker, NAME-worker2.
    - `kubeconfig`: the file that gets the cluster's; nothing reads or changes the user's own. kubectl's caches go
      beside it.

    Raises ProgramMissingError, HostError or DockerError, which say what it failed for.
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
        """The kubectl that `kubectl` calls."""
        return self._find(PROGRAMS["kubectl"])

    @cached_property
    def kind_program(self) -> Path:
        """The kind that makes and deletes the cluster."""
        return self._find(KIND_PROGRAM)

    @property
    def exists(self) -> bool:
        """Whether kind knows a cluster of this name."""
        return self.name in self._run_kind("get", "clusters").split()

    @property
    def nodes(self) -> list[str]:
        """The nodes, which are called like their containers; the control plane first."""
        return sorted(self._run_kind("get", "nodes", "--name", self.name).split())

    def create(self) -> None:
        """Make the cluster and wait until all its nodes are Ready. A failed one is removed again."""
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
        """Make the cluster unless it is there; have its kubeconfig in either case."""
        if self.exists:
            self._progress(f"{self.name} is up already")
            self._run_kind("export", "kubeconfig", "--name", self.name, "--kubeconfig", str(self.kubeconfig))
        else:
            self.create()

    def delete(self) -> None:
        """Delete the cluster, if it is there, and its kubeconfig."""
        self._run_kind("delete", "cluster", "--name", self.name, "--kubeconfig", str(self.kubeconfig))
        self.kubeconfig.unlink(missing_ok=True)
        shutil.rmtree(self._home, ignore_errors=True)

    def load(self, *images: str) -> None:
        """Put images of the engine into every node."""
        self._run_kind("load", "docker-image", *images, "--name", self.name)

    def on_node(self, node: str, *command: str) -> str:
        """Return what a command prints that is run in a node. Raises DockerError."""
        return self.engine.docker("exec", node, *command)

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
    """Return kind's configuration (https://kind.sigs.k8s.io/docs/user/configuration/) of a cluster."""
    nodes = [{"role": "control-plane"}, *({"role": "worker"} for _ in range(workers))]
    return {"kind": "Cluster", "apiVersion": "kind.x-k8s.io/v1alpha4", "nodes": nodes}


def choose_node_image(engine: Engine, environment: Mapping[str, str], progress: Progress) -> str | None:
    """Return the image of the nodes: what KIND_NODE_IMAGE says, else None for kind's own choice of kindest/node.

    Where no registry answers, the one built here.
    """
    named = environment.get(IMAGE_VARIABLE)
    if named:
        return named
    if registry_answers():
        return None
    progress("no image registry answers: the node image is built here, from Debian's packages and Go modules")
    return node_image(engine, environment, progress)
