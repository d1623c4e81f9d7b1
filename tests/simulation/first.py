"""The first seed that fails, one after the other in this process; for the proof."""

import json
import sys
import time

from simulation.profiles import generate
from simulation.run import play


def main() -> None:
    """Play seeds until one fails, so many were played, or so many seconds have passed."""
    most, until = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
    seeds, outcome = 1, play(generate(0))
    while not outcome.invariant and seeds < most and time.monotonic() < until:
        outcome = play(generate(seeds))
        seeds += 1
    print(json.dumps({"seeds": seeds, "invariant": outcome.invariant, "why": outcome.why}))


if __name__ == "__main__":
    main()
