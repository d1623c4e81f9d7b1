"""Becomes another program that is killed when its parent process dies, for any reason (Linux).

    python guard.py PARENT_PID PROGRAM ARGUMENT...

Asks the kernel for a SIGKILL at the parent's death, then executes the program. It is a separate file without slow
imports, because it precedes each started program.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Request the signal, check that the parent still lives, and exec. Never returns."""
    parent, program = int(arguments[0]), arguments[1:]
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:
        sys.exit("the parent process has exited already")
    os.execv(program[0], program)  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    main(sys.argv[1:])
