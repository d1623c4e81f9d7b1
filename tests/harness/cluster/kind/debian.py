"""Debian root file systems made by debootstrap, cached as tar files: the base of images built without a registry."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cluster.kind.engine import DockerError, run
from cluster.kind.host import SUITE, HostError, as_root, debian_mirror, install, system_environment
from cluster.progress import Progress

DEBOOTSTRAP_TIMEOUT_SECONDS = 1200.0

NEEDLESS = (
    *(f"usr/share/{name}" for name in ("doc", "man", "info", "locale", "i18n", "lintian", "bash-completion")),
    *("var/cache/apt", "var/lib/apt/lists", "var/log", "var/cache/debconf", "etc/machine-id", "etc/apt/sources.list"),
)
"""Removed from each tree: documentation, apt's downloads, and names of this machine and its mirror."""


@dataclass(frozen=True)
class Tree:
    """A Debian root file system: `packages` besides the essential ones, without the paths and globs of `removed`."""

    name: str
    packages: tuple[str, ...]
    removed: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Digest of the packages and removed paths. Updates within the Debian suite do not change it."""
        return hashlib.sha256(json.dumps([SUITE, asdict(self), NEEDLESS]).encode()).hexdigest()[:12]


def debian_tree(tree: Tree, cache: Path, progress: Progress) -> Path:
    """Return the tar of a tree, from the cache or built now.

    Raises HostError if debootstrap is not available, does not run as root, or fails.
    """
    tar = cache / f"debian-{SUITE}-{tree.name}-{tree.digest}.tar"
    if tar.is_file():
        return tar
    as_root("debootstrap")
    debootstrap = install("debootstrap", "debootstrap", progress)
    cache.mkdir(parents=True, exist_ok=True)
    progress(f"creating a Debian tree ({tree.name}: {len(tree.packages)} packages and their dependencies)")
    with tempfile.TemporaryDirectory(prefix="coxswain-debian-") as scratch:
        root, partial = Path(scratch) / "root", Path(scratch) / "tar"
        packages = f"--include={','.join(tree.packages)}"
        command = [str(debootstrap), "--variant=minbase", packages, SUITE, str(root), *debian_mirror()]
        try:
            run(command, environment=system_environment(), timeout_seconds=DEBOOTSTRAP_TIMEOUT_SECONDS)
        except DockerError as error:
            raise HostError(str(error)) from None
        remove(root, (*NEEDLESS, *tree.removed))
        run(["tar", "-C", str(root), "--numeric-owner", "-cf", str(partial), "."])
        shutil.move(partial, tar.with_suffix(".partial"))
        tar.with_suffix(".partial").replace(tar)
    return tar


def remove(root: Path, patterns: Sequence[str]) -> None:
    """Remove the matches of the patterns below `root`: symlinks themselves, and directories recursively."""
    for pattern in patterns:
        for path in list(root.glob(pattern)):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
