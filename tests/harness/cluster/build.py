"""Builds the programs with Go, from the modules below modules/, which pin versions and checksums."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster.catalog import CONTAINERD, CONTOUR, KUBERNETES, Module, Program, Version, parse_version, required_version
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
    """Build programs of one module with one command and put all of them or none into `directory`.

    An interruption stops the compiler and leaves no files. Raises RuntimeError if no suitable Go is found, or with the
    compiler's output if the build fails.
    """
    go = find_go(module.go_version, environment)
    partial = directory / ".build"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    names = ", ".join(program.name for program in programs)
    progress(f"building {names} {module.version} with Go; takes minutes the first time")
    started = time.monotonic()
    try:
        _compile(build_command(go, module, programs, partial), module.directory, environment, partial, progress)
        for program in programs:
            (partial / program.name).replace(directory / program.name)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    progress(f"built {names} in {time.monotonic() - started:.0f} s")


def build_own(source: Path, directory: Path, environment: Mapping[str, str], progress: Progress) -> dict[str, Path]:
    """Build the programs of a Go module in this repository without dependencies; return their paths by name.

    Raises RuntimeError like `build_programs`.
    """
    directory.mkdir(parents=True)
    go = find_go(required_version((source / "go.mod").read_text(encoding="utf-8"), "go"), environment)
    _compile(
        [go, *BUILD, "-ldflags", "-s -w", "-o", f"{directory}/", "./..."], source, environment, directory, progress
    )
    return {path.name: path for path in directory.iterdir() if path.suffix != ".log"}


def build_command(go: str, module: Module, programs: Sequence[Program], directory: Path) -> list[str]:
    """Return the `go build` command. A single program gets an explicit name, because Go would call etcd `server`."""
    output = f"{directory / programs[0].name}" if len(programs) == 1 else f"{directory}/"
    return [
        *(go, *BUILD, "-mod=readonly"),
        *("-tags", ",".join(module.tags), "-ldflags", linker_flags(module), "-o", output),
        *(program.package for program in programs),
    ]


def linker_flags(module: Module) -> str:
    """Return flags that omit debugging symbols and set the version of Kubernetes, containerd and Contour."""
    return " ".join(["-s", "-w", *(f"-X {variable}={value}" for variable, value in version_facts(module).items())])


def version_facts(module: Module) -> dict[str, str]:
    """Return the variables that set the version reported by the module's programs."""
    version = module.version
    if module == CONTAINERD:
        return {f"{module.path}/version.Version": str(version).removeprefix("v")}
    if module == CONTOUR:
        return {f"{module.path}/internal/build.Version": str(version)}
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
    """Return the user's environment, with proxies and certificates, but without workspaces and other toolchains.

    Cgo is off, so that the programs run on any machine and in an empty image.
    """
    return {**environment, "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}


def find_go(oldest: Version, environment: Mapping[str, str]) -> str:
    """Return the path of a Go of at least version `oldest`. Raises RuntimeError if there is none."""
    go = shutil.which("go", path=environment.get("PATH", os.defpath))
    if go is None:
        raise RuntimeError("no build: there is no Go on PATH")
    answer = subprocess.run(
        [go, "env", "GOVERSION"], env=go_environment(environment), capture_output=True, text=True, check=False
    )
    try:
        version = parse_version(answer.stdout)
    except ValueError:
        raise RuntimeError(f"no build: {go} reports no version: {answer.stderr.strip()}") from None
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
    """Count the packages that `go build -v` has listed so far: a line with only a path for each."""
    return sum(1 for line in log.splitlines() if b"/" in line and b" " not in line)
