"""Builds the Go peer into the program cache of the throwaway Kubernetes."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from cluster.catalog import Module, Program
from cluster.programs import ProgramMissingError, cache_programs
from cluster.progress import Progress

SOURCE = Path(__file__).with_name("controller_runtime")
LIBRARY = "sigs.k8s.io/controller-runtime"


@dataclass(frozen=True)
class PeerModule(Module):
    """The Go module in this directory. Its version is its library's, so its name contains a hash of its sources."""

    @property
    def directory(self) -> Path:
        return SOURCE


def sources_hash() -> str:
    """Return a hash of the sources."""
    digest = hashlib.sha256()
    for path in sorted(SOURCE.iterdir()):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:10]


def build_controller_runtime(progress: Progress) -> Path | None:
    """Return the program, built or from the cache; on failure, report the reason and return None."""
    program = Program("controller-runtime-peer", PeerModule(f"controller-runtime-peer-{sources_hash()}", LIBRARY), ".")
    try:
        return cache_programs([program], progress)[program.name].path
    except ProgramMissingError as error:
        progress(f"no controller-runtime peer: {error}")
        return None
