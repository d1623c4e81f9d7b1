"""Replay a script: `python -m faults.replay SCRIPT.json --oracles O1,O3`.

A failed run leaves its script, and its failure message contains this command.
"""

import argparse
import json
import sys
from pathlib import Path

from cluster import ControlPlane
from fault_engine.run import Case, Surroundings
from fault_engine.scale import Scale
from fault_engine.script import from_json
from faults import breaks
from faults.workloads import DEFAULT, WORKLOADS

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Play the script; return 1 if an oracle rejects the run."""
    parser = argparse.ArgumentParser(prog="faults.replay", description="Replay a script of the fault suite.")
    parser.add_argument("script", type=Path, help="the script.json of a run")
    parser.add_argument("--oracles", default="O1,O3,O5,O6", help="the oracles for the run (default: %(default)s)")
    parser.add_argument("--time-scale", type=float, default=0.1, help="the factor on all waits (default: %(default)s)")
    parser.add_argument("--break", dest="broken", choices=sorted(breaks.known()), help="the broken operator to run")
    parser.add_argument("--resync", action="store_true", help="enable the periodic resync of the operator")
    parser.add_argument("--workload", choices=sorted(WORKLOADS), default=DEFAULT, help="default: %(default)s")
    given = parser.parse_args()
    workload = WORKLOADS[given.workload]
    try:
        script = from_json(json.loads(given.script.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        parser.error(f"{given.script}: {error}")
    with ControlPlane(manifests=[workload.crd]) as plane:
        workload.install(plane)
        surroundings = Surroundings(plane, workload, ROOT / ".faults", Scale(given.time_scale), breaks.known())
        case = Case(surroundings, "replay", given.oracles.split(","), given.broken, resync=given.resync)
        try:
            played = case(script)
        except AssertionError as error:
            print(error, file=sys.stderr)
            return 1
    recoveries = ", ".join(f"{seconds:.1f} s" for seconds in played.recoveries) or "none needed"
    print(f"survived; recoveries: {recoveries}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
