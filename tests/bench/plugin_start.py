"""Prints the start-up time of the kubectl plugin beside `kubectl version --client`: `python -m bench.plugin_start`.

The programs take turns. `version --client` sends no request, so this is the time until the first one.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from cluster.programs import find_programs
from demo.plugin import build

ROUNDS = 40
FIRST = 3
"""Rounds before the measured ones, which fill the caches."""


def main() -> int:
    """Measure, print, and return the exit code."""
    argparse.ArgumentParser(prog="python -m bench.plugin_start", description=__doc__).parse_args()
    kubectl = find_programs(lambda _: None)["kubectl"].path
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        plugin = str(Path(folder) / "kubectl-coxswain")
        commands = {
            "kubectl version --client": [str(kubectl), "version", "--client"],
            "kubectl-coxswain version --client": [plugin, "version", "--client"],
            "kubectl coxswain version --client": [str(kubectl), "coxswain", "version", "--client"],
        }
        # This Python runs the plugin: a python3 of PATH may be a shell script that selects one.
        found = [folder, str(kubectl.parent), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
        path = os.pathsep.join(found)
        times: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(FIRST + ROUNDS):
            for name, command in commands.items():
                seconds = _run(command, {"PATH": path, "HOME": folder})
                if number >= FIRST:
                    times[name].append(seconds)
    for name, each in times.items():
        low, median, high = (1000 * value for value in (min(each), statistics.median(each), max(each)))
        print(f"{name}: {median:.0f} ms, {low:.0f} to {high:.0f} ({ROUNDS} starts)")
    return 0


def _run(command: Sequence[str], environment: dict[str, str]) -> float:
    started = time.monotonic()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


if __name__ == "__main__":
    sys.exit(main())
