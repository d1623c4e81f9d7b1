"""The program `kubectl-coxswain`, which kubectl runs as `kubectl coxswain`."""

import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module

from kubectl_coxswain.arguments import PROGRAM, kubectl_of, parse
from kubectl_coxswain.kubectl import Run, run_kubectl
from kubectl_coxswain.problems import WRONG_USAGE, Problem
from kubectl_coxswain.screen import confirmed, screen_of
from kubectl_coxswain.session import Session

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal."""
_COMPLETE = "__complete"


def main(arguments: Sequence[str] | None = None, run: Run = run_kubectl) -> int:
    """Run a command and return its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == [_COMPLETE]:
        from kubectl_coxswain.completion import complete  # noqa: PLC0415 - each command imports what it needs

        return complete(words[1:], run)
    found = parse(words)
    session = Session(
        kubectl=kubectl_of(run, found),
        screen=screen_of(sys.stdout, os.environ, colour=not found.no_color),
        notes=screen_of(sys.stderr, os.environ, colour=not found.no_color),
        output=found.output or "",
        now=lambda: datetime.now(UTC),
        clock=time.monotonic,
        sleep=time.sleep,
        confirmed=confirmed,
        stdin=sys.stdin.read,
    )
    try:
        code: int = import_module(f"kubectl_coxswain.commands.{found.command}").run(session, found)
        sys.stdout.flush()
    except Problem as problem:
        sys.stdout.flush()
        session.notes.paragraph(problem.message, "       ", first="error: ")
        if problem.next_step:
            session.notes.paragraph(problem.next_step, "      ", first="next: ")
        return WRONG_USAGE if found.command == "plan" else problem.code
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{PROGRAM}: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe. Nothing more can be written, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:
        if found.command != "plan":
            raise
        import traceback  # noqa: PLC0415 - only after a defect

        # Python would end with 1, by which `plan` reports differences.
        traceback.print_exc()
        return WRONG_USAGE
    return code


if __name__ == "__main__":
    sys.exit(main())
