"""Play a script again: `python -m faults.replay SCRIPT.json --oracles O1,O3`.

A run that failed leaves its script, and its message says this command.
"""

import argparse
import json
import sys
from pathlib import Path

from cluster import ControlPlane
from faults import breaks
from faults.run import Case, Surroundings
from faults.scale import Scale
from faults.script import from_json

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Play it; return 1 if an oracle says no."""
    parser = argparse.ArgumentParser(prog="faults.replay", description="Play a script of the fault suite again.")
    parser.add_argument("script", type=Path, help="the script.json of a run")
    parser.add_argument("--oracles", default="O1,O3,O5,O6", help="by which it is judged (default: %(default)s)")
    parser.add_argument("--time-scale", type=float, default=0.1, help="of the waits (default: %(default)s)")
    parser.add_argument("--break", dest="broken", choices=sorted(breaks.known()), help="an operator broken on purpose")
    parser.add_argument("--resync", action="store_true", help="for an operator that sweeps now and then")
    given = parser.parse_args()
    try:
        script = from_json(json.loads(given.script.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        parser.error(f"{given.script}: {error}")
    with ControlPlane(manifests=[ROOT / "crds" / "webapps.yaml"]) as plane:
        plane.kubectl("apply", "--kustomize", str(ROOT / "manifests/overlays/out-of-cluster"))
        surroundings = Surroundings(plane, ROOT / ".faults", Scale(given.time_scale))
        case = Case(surroundings, "replay", given.oracles.split(","), given.broken, resync=given.resync)
        try:
            played = case(script)
        except AssertionError as error:
            print(error, file=sys.stderr)
            return 1
    recoveries = ", ".join(f"{seconds:.1f} s" for seconds in played.recoveries) or "none was needed"
    print(f"survived; recoveries: {recoveries}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
