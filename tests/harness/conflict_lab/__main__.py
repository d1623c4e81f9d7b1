"""`make conflict-lab`: runs the lab on a throwaway Kubernetes and rewrites docs/conflicts.md and docs/conflicts.svg.

`python -m conflict_lab --render` rewrites them from the results of the last run.
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
from conflict_lab.run import CELL_SECONDS, from_data, run, run_on_status, this_machine, to_data

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "conflicts.md"
CHART = ROOT / "docs" / "conflicts.svg"
KEPT = ROOT / ".conflict-lab" / "results.json"
NAMESPACE = "conflict-lab"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the lab, write the page, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m conflict_lab", description=__doc__)
    parser.add_argument("--render", action="store_true", help="only rewrite the page")
    parser.add_argument("--seconds", type=float, default=CELL_SECONDS, help="time of each measurement [%(default)s]")
    options = parser.parse_args(arguments)
    if not options.render:
        KEPT.parent.mkdir(exist_ok=True)
        measured = {name: to_data(results) for name, results in _measured(options.seconds).items()}
        KEPT.write_text(json.dumps(measured), encoding="utf-8")
    try:
        kept = json.loads(KEPT.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        parser.error(f"no results of a run: {error}; run it without --render first")
    results = from_data(kept["template"])
    PAGE.write_text(page(results, from_data(kept["status"])), encoding="utf-8")
    CHART.write_text(chart(results), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)} and {CHART.relative_to(ROOT)}")
    return 0


def _measured(seconds: float) -> dict[str, Results]:
    machine = this_machine(seconds)  # before the cluster's start adds to the load
    with ControlPlane(fsync=True, nodes=0, progress=_say) as cluster:
        cluster.kubectl("create", "namespace", NAMESPACE)
        return {
            "template": asyncio.run(run(cluster, NAMESPACE, machine, _say)),
            "status": asyncio.run(run_on_status(cluster, NAMESPACE, machine, _say)),
        }


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
