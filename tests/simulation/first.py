"""Finds the first seed that violates one of some invariants, sequentially in this process; for the proof."""

import json
import sys
import time

from simulation.generate import generate
from simulation.run import play


def main() -> None:
    """Run seeds until one violates one of the invariants, or until the limit of seeds or of CPU seconds is reached."""
    name, most, invariants = sys.argv[1], int(sys.argv[2]), sys.argv[6:]
    until = time.process_time() + float(sys.argv[3])
    replicas = int(sys.argv[4]) if sys.argv[4] else None
    slots = int(sys.argv[5]) if sys.argv[5] else None
    seeds, proved, failed, why = 0, False, None, ""
    while not proved and seeds < most and time.process_time() < until:
        outcome = play(generate(seeds, name, replicas, slots))
        proved = outcome.invariant in invariants
        if proved or (outcome.invariant and failed is None):
            failed, why = seeds, outcome.why
        seeds += 1
    print(json.dumps({"seeds": seeds, "proved": proved, "failed": failed, "why": why}))


if __name__ == "__main__":
    main()
