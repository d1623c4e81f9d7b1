"""The development loop: changes that restart the operator, its output, and the tail of the log."""

from pathlib import Path

import pytest
from watchfiles import Change

from cluster.operator_process import LogTail
from cluster.supervisor import Folder, State
from demo.dev import DIRECTORY, SourceFilter, parser, restarted, usage
from demo.samples import ROOT


@pytest.mark.parametrize(
    "path",
    ["operator/coxswain/main.py", "operator/coxswain/webapp/new.py", "crds/webapps.yaml", "manifests/base/a.yaml"],
)
@pytest.mark.parametrize("change", list(Change))
def test_a_changed_source_or_manifest_restarts_the_operator(path: str, change: Change) -> None:
    assert SourceFilter()(change, str(ROOT / path))


@pytest.mark.parametrize(
    "path",
    [
        "operator/coxswain/__pycache__/main.cpython-311.pyc",
        "operator/coxswain/.#main.py",
        "operator/coxswain/main.py~",
        "operator/coxswain/.main.py.swp",
        "operator/coxswain/4913",
        "operator/coxswain",
        "operator/Dockerfile",
        "operator/coxswain.egg-info/SOURCES.txt",
        "manifests/argocd/health.lua",
        "crds/.webapps.yaml.swp",
    ],
)
def test_other_files_do_not_restart_the_operator(path: str) -> None:
    assert not SourceFilter()(Change.modified, str(ROOT / path))


def test_a_restart_names_the_changed_files() -> None:
    paths = [ROOT / "operator" / "coxswain" / f"{name}.py" for name in "dacbe"]
    assert restarted(paths[:1]) == "restarting the operator: operator/coxswain/d.py changed"
    assert restarted(paths) == (
        "restarting the operator: operator/coxswain/a.py, operator/coxswain/b.py, operator/coxswain/c.py"
        " and 2 more changed"
    )


def test_the_usage_names_the_kubeconfig_and_the_kubectl_of_the_cluster(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    text = usage(folder)
    assert f"export KUBECONFIG={folder.kubeconfig} " in text
    assert f'PATH="{folder.kubectl.parent}:$PATH"' in text


def test_options_after_two_hyphens_are_those_of_the_operator() -> None:
    assert parser().parse_args([]).arguments == []
    options = parser().parse_args(["--directory", "there", "--", "--log-level", "debug"])
    assert (options.directory, options.arguments) == (Path("there"), ["--log-level", "debug"])
    assert parser().parse_args(["--", "--log-level", "debug"]).directory == DIRECTORY


def test_a_tail_returns_complete_lines_from_the_present_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    absent = LogTail(log)
    assert absent.lines() == []
    log.write_text("old\n")
    tail = LogTail(log)
    with log.open("a") as file:
        file.write("one\ntw")
        file.flush()
        assert tail.lines() == ["one"]
        assert tail.lines() == []
        file.write("o\nthree\n")
    assert tail.lines() == ["two", "three"]
    assert absent.lines() == ["old", "one", "two", "three"]


def test_a_cluster_is_up_while_its_process_lives_and_is_ready(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert not folder.is_up()
    for state in (State(1, -1, ready=True), State(1, -1)):
        folder.write(state)
        assert not folder.is_up()
