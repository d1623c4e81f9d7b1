"""The rendered manifests: overlays/cluster in one file, for `kubectl apply -f`.

`make manifests` writes the file.
"""

import subprocess
import sys
from pathlib import Path

from cluster.catalog import PROGRAMS
from cluster.programs import ProgramMissingError, find_programs
from cluster.progress import Progress

ROOT = Path(__file__).parents[2]
OVERLAY = ROOT / "manifests" / "overlays" / "cluster"
RENDERED = ROOT / "manifests" / "coxswain.yaml"
HEADER = "# Made by `make manifests` from overlays/cluster: change that, not this.\n"


def render(progress: Progress) -> str:
    """Return the output of `kubectl kustomize overlays/cluster`. Raises ProgramMissingError or CalledProcessError."""
    kubectl = find_programs(progress, programs=(PROGRAMS["kubectl"],))["kubectl"].path
    command = [str(kubectl), "kustomize", str(OVERLAY)]
    return HEADER + subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> int:
    """Write the file and return the exit code."""
    try:
        RENDERED.write_text(render(print), encoding="utf-8")
    except (ProgramMissingError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"rendered {RENDERED.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
