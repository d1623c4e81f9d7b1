"""The development loop: the operator on a throwaway Kubernetes, restarted after each change of its source.

`make dev` runs it; `python -m demo.dev --help` describes it.
"""

import argparse
import fcntl
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml
from watchfiles import Change, DefaultFilter, watch

from cluster import configuration as config
from cluster import supervisor
from cluster.kubectl import KubectlError, run_kubectl
from cluster.operator_process import LogTail, OperatorProcess
from cluster.processes import ProgramExitedError
from cluster.programs import ProgramMissingError
from demo.samples import ROOT, say

DIRECTORY = Path(".cluster")
SOURCE = ROOT / "operator"
MANIFESTS = (ROOT / "crds", ROOT / "manifests")
OVERLAY = ROOT / "manifests/overlays/out-of-cluster"
SERVICE_ACCOUNT = ("coxswain-system", "coxswain")
TOKEN_DURATION = "720h"
"""The life of the operator's token: a session may last for days."""
STEP_MILLISECONDS = 100
"""The pause after a change that ends a group of changes: an editor or git writes several files at a time."""
POLL_MILLISECONDS = 250
"""The interval of checks of the log and the processes while no file changes."""
FILES_NAMED = 3
"""The maximum number of changed files in a message."""


class SourceFilter(DefaultFilter):
    """Accepts Python files below operator/ and YAML files below crds/ and manifests/, except temporary files."""

    def __call__(self, change: Change, path: str) -> bool:
        """Return whether a change of this file restarts the operator."""
        file = Path(path)
        wanted = file.suffix == ".py" if file.is_relative_to(SOURCE) else file.suffix == ".yaml"
        return wanted and super().__call__(change, path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the loop until Ctrl-C or SIGTERM, and return the exit code."""
    options = parser().parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        with _cluster(options.directory) as folder, _alone(folder):
            session = Session(folder, options.arguments)
            try:
                session.run()
            finally:
                # A second Ctrl-C would leave the operator or the cluster running.
                _ignore_signals()
                session.stop()
    except KeyboardInterrupt:
        return 0
    except (ProgramMissingError, ProgramExitedError, KubectlError, supervisor.SupervisorError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    made = argparse.ArgumentParser(
        prog="python -m demo.dev",
        description="Run the operator on a throwaway Kubernetes and show its log. A change of a Python file below "
        "operator/ restarts it; a change of a YAML file below crds/ or manifests/ is applied first. Ctrl-C stops the "
        "operator and the cluster. A cluster that was up before, by `make cluster-up`, stays up.",
    )
    made.add_argument(
        "--directory",
        type=Path,
        default=DIRECTORY,
        metavar="D",
        help="the directory of the cluster: data, logs and kubeconfig [%(default)s]",
    )
    made.add_argument(
        "arguments", nargs="*", metavar="OPTION", help="options of the operator after --, such as -- --log-level debug"
    )
    return made


class Session:
    """The operator under development, on the cluster of a folder."""

    def __init__(self, folder: supervisor.Folder, arguments: Sequence[str]) -> None:
        """Prepare an operator with these command line options."""
        self._folder = folder
        logs = folder.data / "logs"
        self._operator = OperatorProcess(folder.data / "kubeconfigs/operator.yaml", logs / "operator.log", arguments)
        self._log = LogTail(self._operator.log)
        self._started = 0.0
        self._ready = self._ended = False

    def run(self) -> None:
        """Apply the manifests, start the operator, and restart it after each change. Ends only by an exception.

        Raises:
            KeyboardInterrupt: after Ctrl-C or SIGTERM.
            ProgramExitedError: the cluster is gone.
            KubectlError: the manifests cannot be applied at the start.
        """
        self._apply()
        self._start()
        say(usage(self._folder))
        for changed in watch(
            SOURCE,
            *MANIFESTS,
            watch_filter=SourceFilter(),
            step=STEP_MILLISECONDS,
            rust_timeout=POLL_MILLISECONDS,
            yield_on_timeout=True,
        ):
            if changed:
                self._restart({Path(path) for _change, path in changed})
            self._look()

    def stop(self) -> None:
        """Stop the operator and show the rest of its log."""
        if self._operator.running:
            say("stopping the operator")
        self._operator.stop()
        self._show_log()

    def _restart(self, paths: set[Path]) -> None:
        say(restarted(paths))
        self._operator.stop()
        self._show_log()
        if any(not path.is_relative_to(SOURCE) for path in paths):
            try:
                self._apply()
            except KubectlError as error:  # The next change may correct it.
                say(f"not applied: {error}")
        self._start()

    def _start(self) -> None:
        self._started = time.monotonic()
        self._ready = self._ended = False
        self._operator.start(wait=False)

    def _look(self) -> None:
        """Show new log lines, and report once when the operator becomes ready or exits."""
        self._show_log()
        if not self._folder.is_up():
            raise ProgramExitedError(f"the cluster of {self._folder.root} is gone; see {self._folder.log}")
        if not self._operator.running and not self._ended:
            say("the operator has exited. It restarts after the next change.")
            self._ended = True
        elif self._operator.running and not self._ready and self._operator.probe("/readyz")[0] == 200:
            say(f"the operator is ready after {time.monotonic() - self._started:.1f} s, process {self._operator.pid}")
            self._ready = True

    def _show_log(self) -> None:
        for line in self._log.lines():
            say(f"  {line}")

    def _apply(self) -> None:
        """Apply the CRD and the rights of the operator, and write its kubeconfig with a new token."""
        self._kubectl("apply", "--server-side", "--force-conflicts", "--kustomize", str(OVERLAY))
        namespace, name = SERVICE_ACCOUNT
        token = self._kubectl("create", "token", name, f"--namespace={namespace}", f"--duration={TOKEN_DURATION}")
        admin = yaml.safe_load(self._folder.kubeconfig.read_text(encoding="utf-8"))["clusters"][0]["cluster"]
        text = config.kubeconfig(
            url=admin["server"], ca_data=admin["certificate-authority-data"], user=name, token=token.strip()
        )
        file = self._folder.data / "kubeconfigs/operator.yaml"
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")

    def _kubectl(self, *arguments: str) -> str:
        return run_kubectl(
            self._folder.kubectl,
            arguments,
            kubeconfig=self._folder.kubeconfig,
            home=self._folder.data / "home",
            stdin=None,
            check=True,
            timeout_seconds=60,
        )


def usage(folder: supervisor.Folder) -> str:
    """Return instructions to use kubectl with the cluster in another terminal."""
    return (
        "To use the cluster, in another terminal:\n"
        f'  export KUBECONFIG={folder.kubeconfig} PATH="{folder.root}:$PATH"\n'
        "  kubectl apply -k manifests/samples\n"
        "  kubectl get webapps --watch\n"
        "Change a file below operator/ to restart the operator. Ctrl-C stops it."
    )


def restarted(paths: Iterable[Path]) -> str:
    """Return the message for a restart, with the changed files."""
    names = sorted(str(path.relative_to(ROOT)) for path in paths)
    others = len(names) - FILES_NAMED
    rest = f" and {others} more" if others > 0 else ""
    return f"restarting the operator: {', '.join(names[:FILES_NAMED])}{rest} changed"


@contextmanager
def _cluster(directory: Path) -> Iterator[supervisor.Folder]:
    """Use the cluster in this directory, or start one; a cluster that was up before keeps running."""
    folder = supervisor.Folder(directory.absolute())
    was_up = folder.is_up()
    say(f"Using the cluster of {directory}, which is up." if was_up else f"Starting a cluster in {directory}.")
    crds = [f"--manifest={file}" for file in sorted((ROOT / "crds").glob("*.yaml"))]
    try:
        supervisor.up(directory, crds, lambda line: say(f"  {line}"))
        yield folder
    finally:
        _ignore_signals()
        if not was_up:
            say("stopping the cluster")
            say(f"  {supervisor.down(directory)}")
        elif folder.is_up():
            say("the cluster stays up, as before. `make cluster-down` stops it.")


@contextmanager
def _alone(folder: supervisor.Folder) -> Iterator[None]:
    """Make sure that no other session runs on this cluster: `make dev` turns the leader election off."""
    with (folder.data / ".dev.lock").open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise supervisor.SupervisorError(f"another `make dev` runs on the cluster of {folder.root}") from None
        yield


def _ignore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
