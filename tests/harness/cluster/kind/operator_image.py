"""The operator's image: operator/Dockerfile, built without network from wheels fetched by pip before."""

import platform
import shutil
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cluster.catalog import default_cache
from cluster.kind.debian import Tree, debian_tree
from cluster.kind.engine import DockerError, Engine, run
from cluster.kind.host import HostError
from cluster.kind.registry import registry_answers
from cluster.progress import Progress

ROOT = Path(__file__).parents[4]
WHEELS = ROOT / "build" / "wheels"
REPOSITORY = "set-your-registry.invalid/coxswain/operator"
"""As in the manifests, so that kind needs no other name. No registry can serve it, because .invalid is reserved."""
SIZE_LIMIT_BYTES = 250_000_000

PYTHON = "3.11"
"""Python of the base image, from Docker or Debian. Wheels are fetched for it, not for the Python of this process."""

GLIBC_PLATFORMS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
"""Wheel tags for the base (glibc 2.36); pip needs each one listed."""

BASE = Tree(
    "python",
    ("python3",),
    (
        *("usr/bin/perl*", "usr/lib/*/perl*", "usr/share/perl*"),
        *("usr/bin/apt*", "usr/lib/apt", "usr/lib/*/libapt-*", "var/lib/dpkg/info"),
        *("usr/lib/*/gconv", "usr/share/zoneinfo", "usr/lib/python3*/**/__pycache__"),
    ),
)
"""The base for machines without a registry. The package tools are removed; the package list stays for scanners.
Python needs neither glibc's character sets nor time zones. The build creates the bytecode."""


def build_operator_image(engine: Engine, environment: Mapping[str, str], progress: Progress) -> str:
    """Return the tag of the operator's image, built from the working tree and checked by running it.

    Raises HostError or DockerError, with the reason.
    """
    tag = f"{REPOSITORY}:{_project()['project']['version']}"
    _fetch_wheels(progress)
    arguments = {"PIP_NO_INDEX": "1", "REVISION": _revision(), **base_argument(engine, environment, progress)}
    progress(f"building {tag}")
    options = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
    dockerfile = str(ROOT / "operator" / "Dockerfile")
    engine.docker("build", "--quiet", "--network=none", *options, "--file", dockerfile, "--tag", tag, str(ROOT))
    engine.remove_stages()
    _check(engine, tag, progress)
    return tag


def base_argument(engine: Engine, environment: Mapping[str, str], progress: Progress) -> dict[str, str]:
    """Return the build argument BASE, or nothing if a registry has the Dockerfile's default.

    Without a registry, BASE is a Python image built here, unless the engine has it. Raises HostError or DockerError.
    """
    if registry_answers():
        return {}
    tag = f"coxswain/python:{BASE.digest}"
    if not engine.image_exists(tag):
        progress("no image registry answers: building the base of the operator's image from Debian's packages")
        engine.import_tree(debian_tree(BASE, default_cache(environment).parent / "images", progress), tag)
    return {"BASE": tag}


def requirements(project: Mapping[str, Any]) -> list[str]:
    """Return the requirements in the content of pyproject.toml: for the operator, and for its build.

    They include pip, because Debian's python3 lacks it.
    """
    return [*project["project"]["dependencies"], *project["build-system"]["requires"], "pip"]


def _fetch_wheels(progress: Progress) -> None:
    progress("fetching the wheels of the operator's image")
    shutil.rmtree(WHEELS, ignore_errors=True)
    target = [f"--platform={name}_{platform.machine()}" for name in GLIBC_PLATFORMS]
    target += [f"--python-version={PYTHON}", "--implementation=cp", "--only-binary=:all:"]
    options = ["--quiet", "--dest", str(WHEELS), "--constraint", str(ROOT / "constraints.txt"), *target]
    try:
        run([sys.executable, "-m", "pip", "download", *options, *requirements(_project())])
    except DockerError as error:
        raise HostError(f"the wheels of the operator's image are not available: {error}") from None


def _check(engine: Engine, tag: str, progress: Progress) -> None:
    """Start the image as in a pod, without privileges and on a read-only root file system; check its size."""
    restricted = ("--rm", "--read-only", "--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges")
    version = engine.docker("run", *restricted, tag, "--version").strip()
    size = int(engine.docker("image", "inspect", "--format", "{{.Size}}", tag))
    if size > SIZE_LIMIT_BYTES:
        raise HostError(f"{tag} has {size / 1e6:.0f} MB; {SIZE_LIMIT_BYTES / 1e6:.0f} MB are allowed (docs/image.md)")
    progress(f"{tag} is {version}, {size / 1e6:.0f} MB")


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _revision() -> str:
    """Return the commit of the working tree, marked if there are changes; `unknown` outside of a repository."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    try:
        return run(git).strip()
    except (DockerError, OSError):
        return "unknown"
