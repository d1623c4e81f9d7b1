"""The CRDs of the Gateway API, and manifests of Contour, from their Go modules, with the checksums in modules/."""

import json
import os
import subprocess
from pathlib import Path

from cluster.build import find_go, go_environment
from cluster.catalog import CONTOUR, Module

GROUP = "gateway.networking.k8s.io"
CRD = f"httproutes.{GROUP}"
MODULE = Module("gateway", "sigs.k8s.io/gateway-api")


def httproute_crd() -> Path:
    """Return the CRD of HTTPRoute, from the standard channel; Go downloads it the first time.

    Raises RuntimeError if no suitable Go is found, or with Go's output if the download fails.
    """
    return _standard_channel() / f"{GROUP}_httproutes.yaml"


def gateway_crds() -> list[Path]:
    """Return the CRDs of the standard channel and those of Contour. Raises RuntimeError as `httproute_crd` does."""
    crds = [path for path in sorted(_standard_channel().glob(f"{GROUP}_*.yaml")) if "_vap_" not in path.name]
    return [*crds, _examples() / "01-crds.yaml"]


def contour_access() -> list[Path]:
    """Return the manifests of Contour's namespace and rights. Raises RuntimeError as `httproute_crd` does."""
    names = ("00-common", "02-rbac", "02-role-contour")
    return [_examples() / f"{name}.yaml" for name in names]


def _examples() -> Path:
    return _source(CONTOUR) / "examples" / "contour"


def _standard_channel() -> Path:
    return _source(MODULE) / "config" / "crd" / "standard"


def _source(module: Module) -> Path:
    """Return the folder with a module's source, which Go downloads the first time."""
    go = find_go(module.go_version, os.environ)
    answer = subprocess.run(
        [go, "mod", "download", "-json", f"{module.path}@{module.version}"],
        cwd=module.directory,
        env=go_environment(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise RuntimeError(f"no source of {module.path}: {answer.stderr or answer.stdout}")
    return Path(json.loads(answer.stdout)["Dir"])
