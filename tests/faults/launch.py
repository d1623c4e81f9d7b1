"""Start the operator for the fault suite: as a user does, but with shortened times, or broken on purpose.

`python -m faults.launch --scale 0.1 --break NAME ARGUMENTS` runs `coxswain ARGUMENTS`.
"""

import argparse
import dataclasses
import datetime
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from coxswain import command_line
from coxswain.__main__ import main as program
from coxswain.settings import Settings
from faults import breaks
from faults.scale import Scale, scaled

NEVER_SECONDS = 1e6
"""A resync interval that no run lasts."""


def set_clock(file: Path) -> None:
    """Let the operator's time of day be wrong by as many seconds as a file says, now and later."""
    right = time.time

    def wrong() -> float:
        try:
            return right() + float(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return right()

    class Shifted(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> "Shifted":
            return cls.fromtimestamp(wrong(), tz)

    time.time = wrong
    for name, module in list(sys.modules.items()):
        if name.startswith("coxswain") and getattr(module, "datetime", None) is datetime.datetime:
            module.datetime = Shifted  # type: ignore[attr-defined]


def main() -> None:
    """Take our own arguments, and run the operator with the others."""
    parser = argparse.ArgumentParser(prog="faults.launch", add_help=False)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--break", dest="broken", action="append", default=[])
    parser.add_argument("--clock", type=Path, help="a file with the seconds by which the clock is wrong")
    parser.add_argument("--max-files", type=int, help="how many files it may have open")
    parser.add_argument("--never-resync", action="store_true")
    given, rest = parser.parse_known_args()
    sys.argv = [sys.argv[0], *rest]
    read = command_line.settings

    def shortened(arguments: Sequence[str], environment: Mapping[str, str], **named: str) -> Settings:
        found = scaled(read(arguments, environment, **named), Scale(given.scale))
        return dataclasses.replace(found, resync_interval=NEVER_SECONDS) if given.never_resync else found

    command_line.settings = shortened
    if given.max_files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (given.max_files, given.max_files))
    if given.clock:
        set_clock(given.clock)
    for name in given.broken:
        breaks.known()[name].apply()
    program()


if __name__ == "__main__":
    main()
