"""Building the programs with Go, from the modules whose versions and checksums are kept in modules/."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster.catalog import CONTAINERD, KUBERNETES, Module, Program, Version, parse_version, required_version
from cluster.processes import signal_group, start_guarded
from cluster.progress import Heartbeat, Progress

VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
BUILD = ("build", "-v", "-buildvcs=false", "-trimpath")
POLL_SECONDS = 0.25
LOG_TAIL_CHARACTERS = 3000


def build_programs(
    module: Module,
    programs: Sequence[Program],
    directory: Path,
    environment: Mapping[str, str],
    progress: Progress,
) -> None:
    """Build programs of one module in one go and put them into `directory`, all of them or none.

    Interrupted, it ends the compiler and leaves nothing behind. Raises RuntimeError where there is no fitting Go, and
    with what the compiler wrote if it fails.
    """
    go = find_go(module.go_version, environment)
    partial = directory / ".build"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    names = ", ".join(program.name for program in programs)
    progress(f"building {names} {module.version} with Go; minutes, the first time")
    started = time.monotonic()
    try:
        _compile(build_command(go, module, programs, partial), module.directory, environment, partial, progress)
        for program in programs:
            (partial / program.name).replace(directory / program.name)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    progress(f"built {names} in {time.monotonic() - started:.0f} s")


def build_own(source: Path, directory: Path, environment: Mapping[str, str], progress: Progress) -> dict[str, Path]:
    """Build the programs of a Go module of our own, which has no dependencies; return their paths by their names.

    Raises RuntimeError as `build_programs` does.
    """
    directory.mkdir(parents=True)
    go = find_go(required_version((source / "go.mod").read_text(encoding="utf-8"), "go"), environment)
    _compile(
        [go, *BUILD, "-ldflags", "-s -w", "-o", f"{directory}/", "./..."], source, environment, directory, progress
    )
    return {path.name: path for path in directory.iterdir() if path.suffix != ".log"}


def build_command(go: str, module: Module, programs: Sequence[Program], directory: Path) -> list[str]:
    """The `go build` that writes the programs into a folder. One alone is named, as Go would name etcd `server`."""
    output = f"{directory / programs[0].name}" if len(programs) == 1 else f"{directory}/"
    return [
        *(go, *BUILD, "-mod=readonly"),
        *("-tags", ",".join(module.tags), "-ldflags", linker_flags(module), "-o", output),
        *(program.package for program in programs),
    ]


def linker_flags(module: Module) -> str:
    """No debugging symbols; and the version, for those that would not know it: Kubernetes and containerd."""
    return " ".join(["-s", "-w", *(f"-X {variable}={value}" for variable, value in version_facts(module).items())])


def version_facts(module: Module) -> dict[str, str]:
    """The variables of a module's own by which a program tells its version."""
    version = module.version
    if module == CONTAINERD:
        return {f"{module.path}/version.Version": str(version).removeprefix("v")}
    if module != KUBERNETES:
        return {}
    facts = {
        "gitVersion": str(version),
        "gitMajor": str(version.major),
        "gitMinor": str(version.minor),
        "gitCommit": "unknown",
        "gitTreeState": "clean",
    }
    return {f"{package}.{name}": value for package in VERSION_PACKAGES for name, value in facts.items()}


def go_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The user's own environment, with his proxies and certificates, but neither a workspace nor another toolchain.

    Without C, what is built runs wherever it is put, also in an image that holds nothing else.
    """
    return {**environment, "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}


def find_go(oldest: Version, environment: Mapping[str, str]) -> str:
    """The path of a Go that is not older than `oldest`. Raises RuntimeError if there is none."""
    go = shutil.which("go", path=environment.get("PATH", os.defpath))
    if go is None:
        raise RuntimeError("no build: there is no Go on PATH")
    answer = subprocess.run(
        [go, "env", "GOVERSION"], env=go_environment(environment), capture_output=True, text=True, check=False
    )
    try:
        version = parse_version(answer.stdout)
    except ValueError:
        raise RuntimeError(f"no build: {go} does not tell its version: {answer.stderr.strip()}") from None
    if version < oldest:
        raise RuntimeError(f"no build: {go} is {version}, but {oldest} or later is needed")
    return go


def _compile(
    command: Sequence[str], source: Path, environment: Mapping[str, str], directory: Path, progress: Progress
) -> None:
    log = directory / "go.log"
    with log.open("wb") as output, Heartbeat.on_terminal(progress) as heartbeat:
        process = start_guarded(command, environment=go_environment(environment), stdout=output, directory=source)
        try:
            while process.poll() is None:
                heartbeat.beat(f"{source.name}: {count_packages(log.read_bytes())} packages compiled")
                time.sleep(POLL_SECONDS)
        except BaseException:
            signal_group(process, signal.SIGKILL)
            process.wait()
            raise
    if process.returncode != 0:
        text = log.read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"the build with Go failed:\n{text[-LOG_TAIL_CHARACTERS:]}")


def count_packages(log: bytes) -> int:
    """How many packages `go build -v` has named so far: a line each, with nothing but the path."""
    return sum(1 for line in log.splitlines() if b"/" in line and b" " not in line)
