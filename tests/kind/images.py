"""The images of the pods: one small static program, workload/; each image has another behaviour."""

import os
import tarfile
import tempfile
from pathlib import Path

from cluster.build import build_own
from cluster.kind.engine import Engine
from cluster.progress import Progress

SOURCE = Path(__file__).parent / "workload"
REPOSITORY = "coxswain-test/workload"

V1, V2 = f"{REPOSITORY}:v1", f"{REPOSITORY}:v2"
CRASHING = f"{REPOSITORY}:crashing"
NEVER_READY = f"{REPOSITORY}:never-ready"
SLOW = f"{REPOSITORY}:slow"
MISSING = "registry.invalid/workload:v9"
"""A missing image: `.invalid` is a reserved domain that never exists (RFC 6761)."""

EXIT_CODE = 3
LAST_WORDS = "no answer from the database"
START_SECONDS = 12

BEHAVIOURS: dict[str, list[str]] = {
    V1: ["--version=v1"],
    V2: ["--version=v2"],
    CRASHING: ["--never-ready", "--crash-after=1s", f"--exit-code={EXIT_CODE}", f"--message={LAST_WORDS}"],
    NEVER_READY: ["--never-ready"],
    SLOW: ["--version=slow", f"--start-after={START_SECONDS}s"],
}


def build_images(engine: Engine, progress: Progress) -> list[str]:
    """Build the program and an image for each behaviour; return their tags.

    Raises RuntimeError if Go is missing or fails, and DockerError.
    """
    with tempfile.TemporaryDirectory(prefix="coxswain-workload-") as scratch:
        program = build_own(SOURCE, Path(scratch) / "programs", os.environ, progress)["workload"]
        tree = Path(scratch) / "tree.tar"
        with tarfile.open(tree, "w") as files:
            files.add(program, "workload")
        for tag, behaviour in BEHAVIOURS.items():
            command = ", ".join(f'"{word}"' for word in ["serve", *behaviour])
            # A non-root user, as Pod Security `restricted` demands; all pods of WebApps comply with it.
            engine.import_tree(tree, tag, "USER 65532:65532", 'ENTRYPOINT ["/workload"]', f"CMD [{command}]")
    return list(BEHAVIOURS)
