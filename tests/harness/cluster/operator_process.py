"""The operator in its own process, started like a user does: `python -m coxswain` with a kubeconfig."""

import os
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from signal import Signals

from cluster.processes import Service
from cluster.readiness import wait_until

START_TIMEOUT_SECONDS = 60.0
COXSWAIN = ("coxswain",)


class OperatorProcess:
    """An operator that a test can stop, kill and restart.

    It gets only PATH from this machine's environment, so only the kubeconfig decides which CA it trusts. It takes part
    in no leader election, unless `--leader-elect` is among its arguments: a restart after SIGKILL would wait for the
    expiry of the Lease.
    """

    def __init__(
        self,
        kubeconfig: Path,
        log: Path,
        arguments: Sequence[str] = (),
        *,
        program: Sequence[str] = COXSWAIN,
        prefix: Sequence[str] = (),
    ) -> None:
        """Set the kubeconfig and the log file, which is appended to.

        `program` is a module and its arguments. `prefix` is a program that becomes the command after it, such as the
        one of MemoryLimit.
        """
        self.log = log
        self._offset = 0
        ports = ("--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
        command = [*prefix, sys.executable, "-m", *program, "--kubeconfig", str(kubeconfig), *ports]
        environment = {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONUNBUFFERED": "1",
            "COXSWAIN_LEADER_ELECT": "false",
        }
        self._service = Service(
            "operator", [*command, *arguments], log=log, home=log.parent, extra=environment, grace_seconds=15
        )

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return self._service.pid is not None

    @property
    def pid(self) -> int | None:
        """The process id, or None if it does not run."""
        return self._service.pid

    def start(self, *, wait: bool = True) -> None:
        """Start it, and wait until /readyz reports ready."""
        if not self.running:
            self._offset = self.log.stat().st_size if self.log.exists() else 0
        self._service.start()
        if wait:
            wait_until("the operator", lambda: self.probe("/readyz")[0] == 200, [self._service], START_TIMEOUT_SECONDS)

    def stop(self, number: Signals = Signals.SIGTERM) -> int | None:
        """Stop it with a signal; return its exit code, or None if it did not run."""
        return self._service.stop(number)

    def send(self, number: Signals) -> None:
        """Send it a signal without waiting."""
        self._service.send(number)

    def probe(self, path: str, *, timeout_seconds: float = 5.0) -> tuple[int, str]:
        """Return the status and text of /healthz or /readyz; status 0 without an answer in time."""
        return self._get("probes", path, timeout_seconds)

    def metrics(self) -> tuple[int, str]:
        """Return the status and text of /metrics; status 0 without an answer."""
        return self._get("metrics", "/metrics")

    def address(self, server: str) -> str:
        """Return the URL of the `probes` or of the `metrics` from the log; empty before it is there."""
        found = re.search(rf"{server} at (https?://[^\s,]+)", self.logged())
        return found[1] if found else ""

    def _get(self, server: str, path: str, timeout_seconds: float = 5.0) -> tuple[int, str]:
        address = self.address(server)
        if not address:
            return 0, ""
        try:
            with urllib.request.urlopen(address + path, timeout=timeout_seconds) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def logged(self) -> str:
        """Return its log since the last start."""
        if not self.log.exists():
            return ""
        return self.log.read_bytes()[self._offset :].decode(errors="replace")


class LogTail:
    """The lines appended to a log file from now on."""

    def __init__(self, log: Path) -> None:
        """Start at the current end of the file, which may not exist yet."""
        self._log = log
        self._offset = log.stat().st_size if log.exists() else 0

    def lines(self) -> list[str]:
        """Return the complete lines since the last call."""
        if not self._log.exists():
            return []
        with self._log.open("rb") as log:
            log.seek(self._offset)
            new = log.read()
        complete = new[: new.rfind(b"\n") + 1]
        self._offset += len(complete)
        return complete.decode(errors="replace").splitlines()
