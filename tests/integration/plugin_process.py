"""The plugin as a user runs it: the zipapp, started by the real kubectl."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster import ControlPlane
from demo.plugin import build
from integration.scene import Scene

SECONDS = 60


@dataclass(frozen=True)
class Done:
    """A finished run."""

    code: int
    out: str
    err: str


class Plugin:
    """Runs `kubectl coxswain` with a kubeconfig, in the namespace of a test."""

    def __init__(self, scene: Scene, kubeconfig: Path | None = None) -> None:
        """Run it as the administrator, or with another kubeconfig."""
        self._cluster: ControlPlane = scene.cluster
        self._namespace = scene.namespace
        self._kubeconfig = kubeconfig or scene.cluster.kubeconfig
        self._programs = scene.cluster.directory / "plugin"
        if not self._programs.exists():
            build(self._programs)
            (self._programs / "kubectl").symlink_to(scene.cluster.programs["kubectl"])
            self._run_by_this_python(self._programs / "kubectl-coxswain")

    @staticmethod
    def _run_by_this_python(program: Path) -> None:
        """Run the zipapp by the interpreter of the tests, without its site packages."""
        zipapp = program.with_suffix(".pyz")
        program.rename(zipapp)
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {zipapp} "$@"\n', encoding="utf-8")
        program.chmod(0o755)

    def __call__(self, *words: str, stdin: str | None = None) -> Done:
        """Run `kubectl coxswain` with these words in the namespace."""
        return self.kubectl("coxswain", *words, "--namespace", self._namespace, stdin=stdin)

    def kubectl(self, *words: str, stdin: str | None = None) -> Done:
        """Run kubectl."""
        return self._run(["kubectl", *words], SECONDS, stdin)

    def shell(self, script: str, seconds: float, stdin: str | None = None) -> Done:
        """Run a script of a document, whose kubectl works in the namespace."""
        namespaced = f'kubectl() {{ command kubectl "$@" --namespace={self._namespace}; }}\n'
        return self._run(["bash", "-euc", namespaced + script], seconds, stdin)

    def _run(self, command: list[str], seconds: float, stdin: str | None) -> Done:
        done = subprocess.run(
            command,
            input="" if stdin is None else stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
            env={
                "PATH": f"{self._programs}{os.pathsep}/usr/bin{os.pathsep}/bin",
                "HOME": str(self._cluster.layout.home),
                "KUBECONFIG": str(self._kubeconfig),
                "LANG": "C.UTF-8",
            },
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def json(self, *words: str, stdin: str | None = None) -> Any:
        """Return the JSON output of a run."""
        done = self(*words, "--output", "json", stdin=stdin)
        assert done.out, done.err
        return json.loads(done.out)


def viewer(scene: Scene) -> Path:
    """Return the kubeconfig of a user with the role `view` in the namespace."""
    scene.kubectl("create", "serviceaccount", "viewer")
    account = f"{scene.namespace}:viewer"
    scene.kubectl("create", "rolebinding", "viewer", "--clusterrole=view", f"--serviceaccount={account}")
    return scene.cluster.service_account_kubeconfig(scene.namespace, "viewer")
