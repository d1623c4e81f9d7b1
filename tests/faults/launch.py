"""Start the operator for the fault suite, with shortened times and optional breaks.

`python -m faults.launch --workload webapp --scale 0.1 --break NAME ARGUMENTS` runs `coxswain ARGUMENTS`.
"""

import argparse
import dataclasses
import datetime
import resource
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from runpy import run_module

from coxswain import command_line
from coxswain.kernel.election import election_thread, slot_election
from coxswain.kernel.election.balance import balance
from coxswain.kernel.election.slots import slots
from coxswain.settings import Settings
from fault_engine.scale import Scale
from faults import breaks
from faults.scaled_settings import scaled

PROGRAMS = {"webapp": "coxswain", "scheduled-task": "example"}
"""The module of each workload, as for `python -m`."""
NEVER_SECONDS = 1e6
"""A resync interval longer than any run."""


def set_clock(file: Path) -> None:
    """Shift the operator's wall clock by the number of seconds in a file, which may change later."""
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


def block_on_a_signal(seconds: float) -> None:
    """Block the main loop for some seconds at each SIGUSR1. Other threads continue: a handler runs in the main one."""
    signal.signal(signal.SIGUSR1, lambda *_: time.sleep(seconds))


def give_first(number: int, count: int) -> None:
    """Let the operator prefer to give one of its slots back: its identity decides, which is random otherwise."""
    all_slots = slots(count)

    def drawn() -> str:
        while True:
            identity = election_thread.new_identity()
            plan = balance(identity, all_slots, (), slots=count, replicas=count, settled=count)
            if all_slots[number] in plan.give[-1:]:
                return identity

    slot_election.new_identity = drawn  # type: ignore[attr-defined]


def main() -> None:
    """Parse the options of this program, and run the operator with the other arguments."""
    parser = argparse.ArgumentParser(prog="faults.launch", add_help=False)
    parser.add_argument("--workload", choices=sorted(PROGRAMS), default="webapp")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--break", dest="broken", action="append", default=[])
    parser.add_argument("--clock", type=Path, help="a file with the offset of the clock, in seconds")
    parser.add_argument("--block", type=float, metavar="SECONDS", help="block the main loop for so long at SIGUSR1")
    parser.add_argument("--gives", type=int, nargs=2, metavar=("SLOT", "COUNT"), help="the slot to give back first")
    parser.add_argument("--max-files", type=int, help="the maximum number of open files")
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
    if given.block:
        block_on_a_signal(given.block)
    if given.gives:
        give_first(*given.gives)
    if given.clock:
        set_clock(given.clock)
    for name in given.broken:
        breaks.known()[name].apply()
    run_module(PROGRAMS[given.workload], run_name="__main__")


if __name__ == "__main__":
    main()
