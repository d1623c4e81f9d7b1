"""The operator as a process of its own, as a user runs it: `python -m coxswain` with a kubeconfig."""

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
ROOT = Path(__file__).parents[2]
COXSWAIN = ("coxswain",)


class OperatorProcess:
    """One operator that can be stopped, killed and started again.

    It gets none of this machine's environment but PATH, so nothing but the kubeconfig says whom it trusts.
    """

    def __init__(
        self, kubeconfig: Path, log: Path, arguments: Sequence[str] = (), *, program: Sequence[str] = COXSWAIN
    ) -> None:
        """Run with a kubeconfig; append what it logs to a file. `program` is a module, with arguments of its own."""
        self.log = log
        self._offset = 0
        command = [sys.executable, "-m", *program, "--kubeconfig", str(kubeconfig), "--listen", "127.0.0.1:0"]
        environment = {"PYTHONPATH": f"{ROOT / 'operator'}:{ROOT / 'tests'}", "PYTHONUNBUFFERED": "1"}
        self._service = Service(
            "operator", [*command, *arguments], log=log, home=log.parent, extra=environment, grace_seconds=15
        )

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._service.pid is not None

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._service.pid

    def start(self, *, wait: bool = True) -> None:
        """Start it, and wait until /readyz says that it is in step with the cluster."""
        if not self.running:
            self._offset = self.log.stat().st_size if self.log.exists() else 0
        self._service.start()
        if wait:
            wait_until("the operator", lambda: self.probe("/readyz")[0] == 200, [self._service], START_TIMEOUT_SECONDS)

    def stop(self, number: Signals = Signals.SIGTERM) -> int | None:
        """End it with a signal; return its exit code, None if it didn't run."""
        return self._service.stop(number)

    def send(self, number: Signals) -> None:
        """Send it a signal and don't wait."""
        self._service.send(number)

    def probe(self, path: str) -> tuple[int, str]:
        """Return the status and text of /healthz or /readyz; status 0 if nothing answers."""
        address = re.search(r"probes at (http://\S+)", self.logged())
        if address is None:
            return 0, ""
        try:
            with urllib.request.urlopen(address[1] + path, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def logged(self) -> str:
        """Return what it has logged since its present start."""
        if not self.log.exists():
            return ""
        return self.log.read_bytes()[self._offset :].decode(errors="replace")


class LogTail:
    """The lines that a log file gets from now on."""

    def __init__(self, log: Path) -> None:
        """Begin at the present end of the file, which need not exist yet."""
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
