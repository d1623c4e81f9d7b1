"""The operator's image: operator/Dockerfile, built without network from wheels that pip has fetched before."""

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

ROOT = Path(__file__).parents[3]
WHEELS = ROOT / "build" / "wheels"
REPOSITORY = "set-your-registry.invalid/coxswain/operator"
"""As in the manifests, so that a kind cluster needs no other name. No registry can have it: .invalid is reserved."""
SIZE_LIMIT_BYTES = 250_000_000

PYTHON = "3.11"
"""Of the base, be it Docker's or Debian's: wheels are fetched for it, whatever Python this one is."""

GLIBC_PLATFORMS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
"""Tags of wheels that run on the base (glibc 2.36); pip wants each spelled out."""

BASE = Tree(
    "python",
    ("python3",),
    (
        *("usr/bin/perl*", "usr/lib/*/perl*", "usr/share/perl*"),
        *("usr/bin/apt*", "usr/lib/apt", "usr/lib/*/libapt-*", "var/lib/dpkg/info"),
        *("usr/lib/*/gconv", "usr/share/zoneinfo", "usr/lib/python3*/**/__pycache__"),
    ),
)
"""The base where no registry answers. What removes packages is removed with them; the list of packages stays, which
scanners read. Python needs neither glibc's character sets nor time zones, and the bytecode is made in the build."""


def build_operator_image(engine: Engine, environment: Mapping[str, str], progress: Progress) -> str:
    """Return the tag of the operator's image, built from the present tree and seen to run.

    Raises HostError or DockerError, which say what it failed for.
    """
    tag = f"{REPOSITORY}:{_project()['project']['version']}"
    _fetch_wheels(progress)
    arguments = {"PIP_NO_INDEX": "1", "REVISION": _revision()}
    if not registry_answers():
        arguments["BASE"] = _local_base(engine, environment, progress)
    progress(f"building {tag}")
    options = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
    dockerfile = str(ROOT / "operator" / "Dockerfile")
    engine.docker("build", "--quiet", "--network=none", *options, "--file", dockerfile, "--tag", tag, str(ROOT))
    engine.remove_stages()
    _check(engine, tag, progress)
    return tag


def requirements(project: Mapping[str, Any]) -> list[str]:
    """Return what the build installs, from the content of pyproject.toml: for the operator, and to build it.

    pip itself is among it, since Debian's python3 comes without.
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
        raise HostError(f"the wheels of the operator's image can't be had: {error}") from None


def _local_base(engine: Engine, environment: Mapping[str, str], progress: Progress) -> str:
    """Return the tag of a base with Python that is built here, unless the engine has it."""
    tag = f"coxswain/python:{BASE.digest}"
    if not engine.image_exists(tag):
        progress("no image registry answers: the base of the operator's image is made from Debian's packages")
        engine.import_tree(debian_tree(BASE, default_cache(environment).parent / "images", progress), tag)
    return tag


def _check(engine: Engine, tag: str, progress: Progress) -> None:
    """See the image start as in a pod, with no rights and on a read-only root file system, and be small enough."""
    restricted = ("--rm", "--read-only", "--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges")
    version = engine.docker("run", *restricted, tag, "--version").strip()
    size = int(engine.docker("image", "inspect", "--format", "{{.Size}}", tag))
    if size > SIZE_LIMIT_BYTES:
        raise HostError(f"{tag} has {size / 1e6:.0f} MB; {SIZE_LIMIT_BYTES / 1e6:.0f} MB are allowed (docs/image.md)")
    progress(f"{tag} is {version}, {size / 1e6:.0f} MB")


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _revision() -> str:
    """Return the commit of this tree, marked if the tree differs from it; `unknown` outside of a repository."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    try:
        return run(git).strip()
    except (DockerError, OSError):
        return "unknown"
