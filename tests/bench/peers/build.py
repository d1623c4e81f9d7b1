"""Building the peer in Go, into the cache of programs that the throwaway Kubernetes has."""

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
    """The module beside this file. It is as old as its library, so the hash of its sources is part of its name."""

    @property
    def directory(self) -> Path:
        return SOURCE


def sources_hash() -> str:
    """Return what tells one state of the sources from another."""
    digest = hashlib.sha256()
    for path in sorted(SOURCE.iterdir()):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:10]


def build_controller_runtime(progress: Progress) -> Path | None:
    """Return the program, built unless the cache has it; None, with the reason told, where it can't be built."""
    program = Program("controller-runtime-peer", PeerModule(f"controller-runtime-peer-{sources_hash()}", LIBRARY), ".")
    try:
        return cache_programs([program], progress)[program.name].path
    except ProgramMissingError as error:
        progress(f"no controller-runtime peer: {error}")
        return None
