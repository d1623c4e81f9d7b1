"""The commands of the harness: a mistyped name or file is one line with exit status 2, and --help does nothing else."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import bench.plugin_start
import cluster.network_namespace
import conflict_lab.__main__
import faults.render
import mutation.__main__
import mutation.trial
import simulation.command
import simulation.prove
from cluster import supervisor
from cluster.processes import ProgramExitedError
from cluster.supervisor import Folder, State, SupervisorError
from simulation.prove import Mutant, proof


def works(*_: object) -> None:
    pytest.fail("the command does its work")


def refused(capsys: pytest.CaptureFixture[str], run: Any, *arguments: str) -> str:
    """Return the last line of a command that ends with 2."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["program", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (2, "")
    return printed.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "near"), [("K999", "near: K9"), ("F-ignores-a-conflicts", "near: F-"), ("?", "known: E-")]
)
def test_the_proof_of_an_unknown_defect(capsys: pytest.CaptureFixture[str], name: str, near: str) -> None:
    """It said `0 of 0 found` and ended with 0."""
    assert f"no such name: {name!r}; {near}" in refused(capsys, simulation.prove.main, "K1", name)


@pytest.mark.parametrize("more", [[], ["--list"], ["election"]])
def test_mutants_of_an_unknown_word(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    """Without tests, pytest ran the whole suite."""
    monkeypatch.setattr(mutation.__main__, "run", works)
    assert "no such name: 'tolerant_jsno'; near: tolerant_json" in refused(
        capsys, mutation.__main__.main, "tolerant_jsno", *more
    )


def test_a_proof_whose_process_is_killed_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=-9, stderr="", stdout=""))
    row = proof(Mutant("K0", "a title", ()), "webapp", seeds=1, seconds=1)
    assert row == "| K0 | - | it does not run: exit status -9 | a title |"


@pytest.mark.parametrize("text", [None, "", "[]", '{"seed": 1}', '{"conditions": {"namespaces": [], "x": 1}}'])
def test_a_script_that_is_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    path = tmp_path / "script.json"
    if text is not None:
        path.write_text(text)
    assert f"error: {path}: " in refused(capsys, simulation.command.main, "--script", str(path)).replace(
        "[Errno 2] No such file or directory: ", ""
    )


def test_conflicts_are_not_rendered_without_results(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(conflict_lab.__main__, "KEPT", tmp_path / "results.json")
    line = refused(capsys, conflict_lab.__main__.main, "--render")
    assert "no results of a run: " in line
    assert "run it without --render first" in line


def test_a_namespace_needs_a_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr("os.execvp", lambda *given: started.append(given))
    monkeypatch.setattr("shutil.which", lambda _: "/found")
    run = cluster.network_namespace.main
    assert "arguments are required: COMMAND" in refused(capsys, lambda: run([]))
    run(["pytest", "-x", "--", "--help"])
    ((_, command),) = started
    assert command[-4:] == ["pytest", "-x", "--", "--help"]


@pytest.mark.parametrize(
    "run",
    [faults.render.main, bench.plugin_start.main, lambda: cluster.network_namespace.main(sys.argv[1:])],
    ids=["faults.render", "bench.plugin_start", "cluster.network_namespace"],
)
def test_help_does_nothing_else(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    """It rewrote a page, ran a measurement, or started the command `--help`."""
    for module, work in ((faults.render, "tests"), (bench.plugin_start, "find_programs")):
        monkeypatch.setattr(module, work, works)
    monkeypatch.setattr("os.execvp", works)
    monkeypatch.setattr(sys, "argv", ["program", "--help"])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: python -m ")


class Plane:
    """A control plane that starts nothing and ends at its first check."""

    def __init__(self, folder: Path, name: str) -> None:
        self._link = Folder(folder).kubeconfig
        self.kubeconfig = folder / name

    def __enter__(self) -> "Plane":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def check(self) -> None:
        raise ProgramExitedError(f"the end of {self._link.readlink().name}")


def test_a_cluster_is_served_twice_in_one_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one failed, for the kubeconfig of the first."""
    monkeypatch.setattr(supervisor, "CHECK_EVERY_SECONDS", 0)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    said: list[str] = []
    for name in ("first", "second"):
        assert supervisor.serve(tmp_path, Plane(tmp_path, name), said.append) == 1  # type: ignore[arg-type]
        assert not Folder(tmp_path).kubeconfig.is_symlink()
    Folder(tmp_path).kubeconfig.symlink_to("killed")
    assert supervisor.serve(tmp_path, Plane(tmp_path, "third"), said.append) == 1  # type: ignore[arg-type]
    assert said == [f"stopping, for the end of {name}" for name in ("first", "second", "third")]


def test_no_second_cluster_is_served_in_one_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Folder(tmp_path).write(State(1, 1, ready=True))
    monkeypatch.setattr(State, "alive", lambda _: True)
    with pytest.raises(SupervisorError, match="a cluster is already up in"):
        supervisor.serve(tmp_path, Plane(tmp_path, "second"), print)  # type: ignore[arg-type]
