"""Become another program that dies with the process that started it, however that one ends (Linux).

    python guard.py PARENT_PID PROGRAM ARGUMENT...

The kernel is asked for a SIGKILL at the parent's death, then this process turns into the program. It runs as a file of
its own, without any import that costs time: it stands in front of every program that is started.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Ask for the signal, make sure that the parent did not die before that, and exec. Never returns."""
    parent, program = int(arguments[0]), arguments[1:]
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        sys.exit("the process that started this one is gone already")
    os.execv(program[0], program)  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    main(sys.argv[1:])
