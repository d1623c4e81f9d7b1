"""Child processes with a clean environment and a log file that never outlive their parent process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

GUARD = Path(__file__).with_name("guard.py")
LOG_TAIL_LINES = 15

# For PR_SET_PDEATHSIG the "parent" is the forking thread, so children of a short-lived thread would die with it. This
# thread lives as long as the process and starts all of them.
_STARTER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cluster-starter")


class ProgramExitedError(RuntimeError):
    """A needed program exited by itself; the message contains the end of its log."""


def clean_environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return PATH, HOME and `extra`: no other variable, such as a proxy or CA bundle, reaches a program."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), **(extra or {})}


def start_guarded(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    stdin: int = subprocess.DEVNULL,
    stdout: IO[Any] | int,
    stderr: IO[Any] | int = subprocess.STDOUT,
    directory: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program that is killed when this process dies, even by SIGKILL.

    It leads its own session, so that only this process receives a Ctrl-C. Raises RuntimeError on other systems than
    Linux.
    """
    if not sys.platform.startswith("linux"):
        raise RuntimeError(f"a throwaway Kubernetes needs Linux (this is {sys.platform})")
    guarded = [sys.executable, "-I", "-S", str(GUARD), str(os.getpid()), *command]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            guarded,
            env=dict(environment),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=directory,
            start_new_session=True,
        )

    return _STARTER.submit(start).result()


def stop(process: subprocess.Popen[bytes], grace_seconds: float) -> None:
    """Send SIGTERM to the process group, and SIGKILL to the rest of it after `grace_seconds`."""
    signal_group(process, signal.SIGTERM)
    try:
        process.wait(grace_seconds)
    except subprocess.TimeoutExpired:
        signal_group(process, signal.SIGKILL)
        process.wait()


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a guarded process and its children; no-op if it has exited."""
    if process.poll() is None:
        os.killpg(process.pid, number)


class Service:
    """One long-running program of the control plane, with a fixed command line. It can be restarted."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        home: Path,
        extra: Mapping[str, str] | None = None,
        grace_seconds: float = 5.0,
    ) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self._environment = clean_environment(home, extra)
        self._grace_seconds = grace_seconds
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id, or None if it does not run."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def start(self) -> None:
        """Start it and append its output to its log. No-op if it runs."""
        if self.pid is not None:
            return
        with self.log.open("ab") as log:
            self._process = start_guarded(self.command, environment=self._environment, stdout=log)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, for example SIGSTOP or SIGCONT, without waiting."""
        if self._process is not None:
            signal_group(self._process, number)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int | None:
        """Send `number` and wait for the exit. Kills it after the grace period, or immediately if `number` is SIGKILL.

        Returns the exit code, or None if it did not run.
        """
        if self._process is None:
            return None
        self.send(signal.SIGCONT)
        self.send(number)
        process, self._process = self._process, None
        if number is signal.SIGKILL:
            process.wait()
        else:
            stop(process, self._grace_seconds)
        return process.returncode

    def check(self) -> None:
        """Raise ProgramExitedError if it was started and has exited by itself."""
        if self._process is None:
            return
        code = self._process.poll()
        if code is not None:
            raise ProgramExitedError(f"{self.name} exited with code {code}; the end of {self.log}:\n{self.tail()}")

    def tail(self, lines: int = LOG_TAIL_LINES) -> str:
        """Return the last lines of its log."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


def process_start_time(pid: int) -> int | None:
    """Return the process start in clock ticks since boot, to detect a reused process id; None if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def wait_for_end(pid: int, start_time: int, timeout_seconds: float) -> bool:
    """Wait for the process to exit; return False on timeout."""
    deadline = time.monotonic() + timeout_seconds
    while process_start_time(pid) == start_time:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
