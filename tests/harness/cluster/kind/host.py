"""Prepares a Debian machine for a kind cluster, as root: packages, and a running Docker engine."""

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from cluster.kind.engine import DockerError, Engine, EngineMissingError, find_engine, run
from cluster.progress import Heartbeat, Progress

START_TIMEOUT_SECONDS = 60.0
INSTALL_TIMEOUT_SECONDS = 900.0
POLL_SECONDS = 0.25
LOG = Path("/var/log/coxswain-dockerd.log")
LOG_TAIL_CHARACTERS = 2000

SUITE = "bookworm"
"""The Debian release of the images."""


class HostError(RuntimeError):
    """The machine cannot be prepared; the message says why."""


def get_engine_ready(progress: Progress) -> Engine:
    """Return a Docker engine, after installing and starting one if none answers.

    Raises HostError if this is not root or not Debian, if packages are missing, or if the engine does not start.
    """
    try:
        return find_engine()
    except EngineMissingError as error:
        missing = error
    if os.geteuid() != 0:
        raise HostError(f"not root, so Docker Engine cannot be installed and started here.\n{missing}")
    install("dockerd", "docker.io", progress)
    install("docker", "docker-cli", progress)  # a separate package since Debian 13
    return _start(progress)


def install(program: str, package: str, progress: Progress) -> Path:
    """Return the path of a program; install its Debian package if needed. Raises HostError."""
    found = shutil.which(program, path=_system_path())
    if found is not None:
        return Path(found)
    apt = shutil.which("apt-get", path=_system_path())
    if apt is None or os.geteuid() != 0:
        reason = "there is no apt-get" if apt is None else "this is not root"
        raise HostError(f"{program} is needed: install {package} (not possible from here: {reason})")
    progress(f"installing Debian's {package}")
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", package]):
        try:
            run([apt, *arguments], environment=system_environment(), timeout_seconds=INSTALL_TIMEOUT_SECONDS)
        except DockerError as error:
            raise HostError(f"{package} cannot be installed: {error}") from None
    found = shutil.which(program, path=_system_path())
    if found is None:
        raise HostError(f"{package} is installed but contains no {program}")
    return Path(found)


def _start(progress: Progress) -> Engine:
    command = [shutil.which("dockerd", path=_system_path()) or "dockerd"]
    progress(f"starting Docker Engine; its log is {LOG}")
    with LOG.open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=system_environment(),
            start_new_session=True,
        )
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    with Heartbeat.on_terminal(progress) as heartbeat:
        while process.poll() is None and time.monotonic() < deadline:
            try:
                engine = find_engine()
            except EngineMissingError:
                heartbeat.beat("waiting for Docker Engine")
                time.sleep(POLL_SECONDS)
            else:
                progress(f"Docker Engine keeps running as process {process.pid}; `kill {process.pid}` stops it")
                return engine
    tail = LOG.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL_CHARACTERS:]
    raise HostError(f"Docker Engine does not start; the end of {LOG}:\n{tail}")


def system_environment() -> dict[str, str]:
    """Return the user's environment with the sbin directories in PATH, which a minimal PATH lacks."""
    return {**os.environ, "PATH": _system_path(), "DEBIAN_FRONTEND": "noninteractive"}


def _system_path() -> str:
    return os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"))


def as_root(what: str) -> None:
    """Raise HostError unless this process runs as root."""
    if os.geteuid() != 0:
        raise HostError(f"{what} needs root")


def debian_mirror() -> Sequence[str]:
    """Return the mirror from apt's configuration, empty if it names none."""
    apt = shutil.which("apt-get", path=_system_path())
    if apt is None:
        return []
    sites = run([apt, "indextargets", "--format", "$(SITE) $(CODENAME)", "Created-By: Packages"])
    return [line.split()[0] for line in sites.splitlines() if line.endswith(f" {SUITE}")][:1]
