"""Start the operator for the fault suite: as a user does, but with shortened times, or broken on purpose.

`python -m faults.launch --scale 0.1 --break NAME ARGUMENTS` runs `coxswain ARGUMENTS`.
"""

import argparse
import dataclasses
import sys
from collections.abc import Mapping, Sequence

import coxswain.__main__ as program
from coxswain.settings import Settings
from faults import breaks
from faults.scale import Scale, scaled

NEVER_SECONDS = 1e6
"""A resync interval that no run lasts."""


def main() -> None:
    """Take our own arguments, and run the operator with the others."""
    parser = argparse.ArgumentParser(prog="faults.launch", add_help=False)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--break", dest="broken")
    parser.add_argument("--never-resync", action="store_true")
    given, rest = parser.parse_known_args()
    sys.argv = [sys.argv[0], *rest]
    read = program.settings

    def shortened(arguments: Sequence[str], environment: Mapping[str, str]) -> Settings:
        found = scaled(read(arguments, environment), Scale(given.scale))
        return dataclasses.replace(found, resync_interval=NEVER_SECONDS) if given.never_resync else found

    program.settings = shortened
    if given.broken:
        breaks.known()[given.broken].apply()
    program.main()


if __name__ == "__main__":
    main()
