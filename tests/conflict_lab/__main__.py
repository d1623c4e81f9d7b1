"""`make conflict-lab`: run the lab on a throwaway Kubernetes, and write docs/conflicts.md and docs/conflicts.svg anew.

`python -m conflict_lab --render` writes them from the results of the last run.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from cluster import ControlPlane
from conflict_lab.chart import chart
from conflict_lab.page import page
from conflict_lab.results import Results
from conflict_lab.run import CELL_SECONDS, from_data, run, this_machine, to_data

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conflicts.md"
CHART = ROOT / "docs" / "conflicts.svg"
KEPT = ROOT / ".conflict-lab" / "results.json"
NAMESPACE = "conflict-lab"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the lab and write the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m conflict_lab", description=__doc__)
    parser.add_argument("--render", action="store_true", help="only write the page anew")
    parser.add_argument("--seconds", type=float, default=CELL_SECONDS, help="for each figure [%(default)s]")
    options = parser.parse_args(arguments)
    if not options.render:
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(to_data(_measured(options.seconds))), encoding="utf-8")
    results = from_data(json.loads(KEPT.read_text(encoding="utf-8")))
    PAGE.write_text(page(results), encoding="utf-8")
    CHART.write_text(chart(results), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)} and {CHART.relative_to(ROOT)}")
    return 0


def _measured(seconds: float) -> Results:
    machine = this_machine(seconds)  # before the cluster's start adds to the load
    with ControlPlane(fsync=True, nodes=0, progress=_say) as cluster:
        cluster.kubectl("create", "namespace", NAMESPACE)
        return asyncio.run(run(cluster, NAMESPACE, machine, _say))


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
