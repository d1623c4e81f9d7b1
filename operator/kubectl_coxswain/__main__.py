"""The program `kubectl-coxswain`, which kubectl runs as `kubectl coxswain`."""

import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module

from kubectl_coxswain.arguments import PROGRAM, kubectl_of, parse
from kubectl_coxswain.kubectl import AS_GIVEN, Run, run_kubectl
from kubectl_coxswain.problems import FAILED, WRONG_USAGE, Problem
from kubectl_coxswain.screen import Screen, confirmed, screen_of
from kubectl_coxswain.session import Arguments, Session, write_problem

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal."""
READER_GONE = 141
"""Exit code after the reader of the output has stopped, as that of kubectl: 128 and the number of SIGPIPE."""
_COMPLETE = "__complete"


def main(arguments: Sequence[str] | None = None, run: Run = run_kubectl) -> int:
    """Run a command and return its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == [_COMPLETE]:
        from kubectl_coxswain.completion import complete  # noqa: PLC0415 - each command imports what it needs

        return complete(words[1:], run)
    found = parse(words)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - until the end of the process
    try:
        return _run(found, run)
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{PROGRAM}: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe.
        _discard_output()
        return READER_GONE
    except OSError as error:
        _discard_output()
        sys.stderr.write(f"error: the standard input or output fails: {error.strerror}\nnext: redirect it elsewhere\n")
        return WRONG_USAGE if found.command == "plan" else FAILED
    except Exception:
        if found.command != "plan":
            raise
        import traceback  # noqa: PLC0415 - only after a defect

        # Python would end with 1, by which `plan` reports differences.
        traceback.print_exc()
        return WRONG_USAGE


def _discard_output() -> None:
    """Discard buffered output: nothing more can be written, also not at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(found: Arguments, run: Run) -> int:
    """Run a command, and report its problem on the standard error."""
    notes = screen_of(sys.stderr, os.environ, colour=not found.no_color)
    try:
        session = _session(found, run, notes)
        code: int = import_module(f"kubectl_coxswain.commands.{found.command}").run(session, found)
        sys.stdout.flush()
    except Problem as problem:
        if sys.stdout is not None:
            sys.stdout.flush()
        write_problem(notes, problem)
        return WRONG_USAGE if found.command == "plan" else problem.code
    return code


def _session(found: Arguments, run: Run, notes: Screen) -> Session:
    """Return the session of this process. Raises Problem."""
    if sys.stdout is None:
        raise Problem("the standard output is closed, so there is no place for the result", "redirect it to a file")
    return Session(
        kubectl=kubectl_of(run, found),
        screen=screen_of(sys.stdout, os.environ, colour=not found.no_color),
        notes=notes,
        output=found.output or "",
        now=lambda: datetime.now(UTC),
        clock=time.monotonic,
        sleep=time.sleep,
        confirmed=confirmed,
        stdin=_given,
    )


def _given() -> str:
    """Return the standard input. Its bytes are those of a file, whatever the encoding of the terminal."""
    return sys.stdin.buffer.read().decode(errors=AS_GIVEN) if sys.stdin is not None else ""


if __name__ == "__main__":
    sys.exit(main())
