"""A throwaway Kubernetes that outlives the command that started it: `up`, `down`, and the process in the background."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from cluster.control_plane import ControlPlane
from cluster.processes import ProgramExitedError, process_start_time, wait_for_end
from cluster.programs import find_programs
from cluster.progress import Progress

START_TIMEOUT_SECONDS = 120.0
STOP_TIMEOUT_SECONDS = 30.0
POLL_SECONDS = 0.1
CHECK_EVERY_SECONDS = 1.0


class SupervisorError(RuntimeError):
    """`up` or `down` failed; the message says why."""


@dataclass(frozen=True)
class State:
    """The process of a cluster. It includes the start time, because process ids are reused."""

    pid: int
    start_time: int
    ready: bool = False

    def alive(self) -> bool:
        return process_start_time(self.pid) == self.start_time


@dataclass(frozen=True)
class Folder:
    """The directory of a running cluster."""

    root: Path

    @property
    def state_file(self) -> Path:
        return self.root / "state.json"

    @property
    def log(self) -> Path:
        return self.root / "supervisor.log"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    @property
    def kubectl(self) -> Path:
        return self.root / "kubectl"

    def read(self) -> State | None:
        """Return the state; None if nothing was started here."""
        try:
            return State(**json.loads(self.state_file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None

    def is_up(self) -> bool:
        """Return whether a cluster runs here and is ready."""
        state = self.read()
        return state is not None and state.alive() and state.ready

    def write(self, state: State) -> None:
        partial = self.root / ".state.json.partial"
        partial.write_text(json.dumps(asdict(state)), encoding="utf-8")
        partial.replace(self.state_file)

    def clear(self) -> None:
        """Remove only the files created by `up`."""
        shutil.rmtree(self.data, ignore_errors=True)
        for file in (self.kubeconfig, self.kubectl, self.log, self.state_file):
            file.unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[Self]:
        """Allow one `up` or `down` at a time."""
        lock = self.root / ".lock"
        with lock.open("a") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield self


def up(root: Path, options: Sequence[str], progress: Progress) -> str:
    """Start a cluster that stays up, unless one runs; return the instructions. `options` are passed to `serve`.

    Raises SupervisorError if it does not become ready, ProgramMissingError if a program is not available.
    """
    folder = Folder(root.absolute())
    if root.exists() and not folder.state_file.exists() and _foreign_content(root):
        raise SupervisorError(f"{root} contains other files: choose another --directory")
    programs = find_programs(progress)
    root.mkdir(parents=True, exist_ok=True)
    with folder.locked():
        if folder.is_up():
            return "it is already up\n" + usage(folder)
        _end(folder.read())
        folder.clear()
        folder.kubectl.symlink_to(programs["kubectl"].path)
        _start(folder, options, progress)
    return usage(folder)


def down(root: Path) -> str:
    """Stop the cluster of a directory and remove its data; return a message."""
    folder = Folder(root.absolute())
    if not folder.state_file.exists():
        return f"nothing is up in {root}"
    with folder.locked():
        was_up = _end(folder.read())
        folder.clear()
    (folder.root / ".lock").unlink(missing_ok=True)
    if not any(folder.root.iterdir()):
        folder.root.rmdir()
    return "stopped; its data is removed" if was_up else "it had exited already; its data is removed"


def serve(root: Path, control_plane: ControlPlane, progress: Progress) -> int:
    """Run a cluster until SIGTERM or SIGINT, or until one of its programs exits. Returns an exit code.

    Raises SupervisorError if a cluster is up in the directory.
    """
    folder = Folder(root.absolute())
    if folder.is_up():
        raise SupervisorError(f"a cluster is already up in {root}: stop it, or choose another --directory")
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with control_plane as cluster:
        # A process that was killed has left it.
        folder.kubeconfig.unlink(missing_ok=True)
        folder.kubeconfig.symlink_to(cluster.kubeconfig)
        state = State(os.getpid(), process_start_time(os.getpid()) or 0, ready=True)
        folder.write(state)
        try:
            while not ended.wait(CHECK_EVERY_SECONDS):
                cluster.check()
        except ProgramExitedError as error:
            progress(f"stopping, for {error}")
            return 1
        finally:
            folder.kubeconfig.unlink(missing_ok=True)
            folder.write(replace(state, ready=False))
    progress("stopped")
    return 0


def usage(folder: Folder) -> str:
    """Return the instructions for a running cluster."""
    return (
        f"  export KUBECONFIG={folder.kubeconfig}\n"
        f"  {folder.kubectl} get nodes\n"
        f"its logs: {folder.data / 'logs'}\n"
        "to stop:  make cluster-down"
    )


def _foreign_content(root: Path) -> bool:
    return any(entry.name != ".lock" for entry in root.iterdir())


def _start(folder: Folder, options: Sequence[str], progress: Progress) -> None:
    command = [sys.executable, "-m", "cluster", "serve", f"--directory={folder.root}", *options]
    source_root = str(Path(__file__).parent.parent)
    with folder.log.open("wb") as log:
        process = subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": source_root, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    state = State(process.pid, process_start_time(process.pid) or 0)
    folder.write(state)
    try:
        _wait_ready(folder, process, progress)
    except BaseException:
        if process.poll() is None:
            _end(state)
        raise


def _wait_ready(folder: Folder, process: subprocess.Popen[bytes], progress: Progress) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    shown = 0
    while True:
        state, code = folder.read(), process.poll()
        text = folder.log.read_text(encoding="utf-8", errors="replace")
        complete = text[shown : text.rfind("\n") + 1]
        for line in complete.splitlines():
            progress(line)
        shown += len(complete)
        if code is not None:
            raise SupervisorError(f"it exited with code {code}; see {folder.log}")
        if state is not None and state.ready:
            return
        if time.monotonic() > deadline:
            raise SupervisorError(f"not ready after {START_TIMEOUT_SECONDS:.0f} s; see {folder.log}")
        time.sleep(POLL_SECONDS)


def _end(state: State | None) -> bool:
    """Stop only the process of the state; its programs die with it. Return whether it was alive."""
    if state is None or not state.alive():
        return False
    for number, seconds in ((signal.SIGTERM, STOP_TIMEOUT_SECONDS), (signal.SIGKILL, 5.0)):
        try:
            os.kill(state.pid, number)
        except ProcessLookupError:
            return True
        if wait_for_end(state.pid, state.start_time, seconds):
            return True
    raise SupervisorError(f"process {state.pid} does not exit")
