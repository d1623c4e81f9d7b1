"""The requirements of a kind cluster on the machine, and the messages if one is missing."""

import os
import socket
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from cluster.kind import host, kind_cluster, node_image
from cluster.kind.debian import Tree, remove
from cluster.kind.engine import SHIM, DockerError, Engine, EngineMissingError, find_engine, run
from cluster.kind.host import HostError
from cluster.kind.registry import registry_answers
from cluster.progress import silent


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the whole PATH except for the shell's own programs."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path / "bin"


def test_an_engine_that_does_not_answer_is_told_with_what_helps(programs: Path) -> None:
    script(programs / "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    with pytest.raises(EngineMissingError, match="Cannot connect to the Docker daemon") as error:
        find_engine()
    assert "make docker-engine" in str(error.value)


def test_an_engine_is_not_installed_by_anybody_but_root(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(programs / "docker", "exit 1")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HostError, match="not root"):
        host.get_engine_ready(silent)


def test_an_engine_that_runs_is_taken_as_it_is(programs: Path) -> None:
    docker = script(programs / "docker", "echo 27.0")
    assert host.get_engine_ready(silent).program == docker


def test_a_command_that_fails_shows_the_end_of_what_it_wrote(tmp_path: Path) -> None:
    failing = script(tmp_path / "kind", "seq 5000; echo the cause >&2; exit 7")
    with pytest.raises(DockerError, match=r"kind create cluster \.\.\. exited with code 7") as error:
        run([str(failing), "create", "cluster"])
    assert str(error.value).endswith("the cause")
    assert len(str(error.value)) < 4000


@pytest.mark.parametrize(("said", "fails"), [("a prune operation is already running", False), ("no space", True)])
def test_two_that_tidy_up_at_once_are_no_failure(tmp_path: Path, said: str, fails: bool) -> None:
    engine = Engine(script(tmp_path / "docker", f"echo 'Error: {said}' >&2; exit 1"))
    with pytest.raises(DockerError, match=said) if fails else nullcontext():
        engine.remove_stages()


CAPABILITIES = "Name:\tpython\nCapEff:\t0000000000000000\nCapBnd:\t{}\nCapAmb:\t0000000000000000\n"


@pytest.mark.parametrize(("bounding", "stands_in"), [("000001ffffffffff", False), ("000001fffeffffff", True)])
def test_the_stand_in_for_docker_is_there_only_where_the_capability_lacks(
    tmp_path: Path, bounding: str, stands_in: bool
) -> None:
    engine = Engine(tmp_path / "docker", process_status=CAPABILITIES.format(bounding))
    assert (engine.environment["PATH"].split(os.pathsep)[0] == str(SHIM)) is stands_in


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["run", "--privileged", "--name", "a b", "image"], "run|--cap-add|ALL|--cap-drop|SYS_RESOURCE|"),
        (["exec", "--privileged", "node", "ls"], "exec|node|ls|"),
        (["ps", "--privileged"], "ps|--privileged|"),
    ],
)
def test_the_stand_in_asks_for_all_rights_but_one(tmp_path: Path, arguments: list[str], asked: str) -> None:
    script(tmp_path / "docker", "printf '%s|' \"$@\"")
    path = f"{SHIM}:{tmp_path}:/usr/bin:/bin"
    said = subprocess.run([SHIM / "docker", *arguments], env={"PATH": path}, capture_output=True, text=True, check=True)
    assert said.stdout.startswith(asked)
    assert ("a b|" in said.stdout) is ("a b" in arguments)


def test_a_registry_that_is_silent_is_given_up_soon() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        assert not registry_answers(f"http://127.0.0.1:{deaf.getsockname()[1]}/v2/", timeout_seconds=0.2)
    assert not registry_answers("http://127.0.0.1:1/v2/", timeout_seconds=5)


def test_the_node_image_is_the_one_that_the_variable_names(tmp_path: Path) -> None:
    engine = Engine(tmp_path / "docker")
    environment = {"KIND_NODE_IMAGE": "kindest/node:v1.35.0"}
    assert kind_cluster.choose_node_image(engine, environment, silent) == "kindest/node:v1.35.0"


def test_kind_chooses_where_a_registry_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind_cluster, "registry_answers", lambda: True)
    assert kind_cluster.choose_node_image(Engine(tmp_path / "docker"), {}, silent) is None


def test_a_node_image_that_the_engine_has_is_not_built_again(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tag = node_image.node_image_tag()
    docker = script(programs / "docker", f"[ \"$*\" = 'image ls --quiet {tag}' ] && echo 0123456789ab")
    monkeypatch.setattr(kind_cluster, "registry_answers", lambda: False)
    assert kind_cluster.choose_node_image(Engine(docker), {}, silent) == tag


def test_the_tag_of_the_node_image_changes_with_each_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "root").mkdir()
    file = tmp_path / "root" / "entrypoint"
    file.write_text("one", encoding="utf-8")
    monkeypatch.setattr(node_image, "NODE", tmp_path)
    before = node_image.node_image_tag()
    assert before == node_image.node_image_tag()
    file.write_text("two", encoding="utf-8")
    assert node_image.node_image_tag() != before


def test_a_tree_is_another_one_with_other_packages() -> None:
    assert Tree("base", ("python3",)).digest == Tree("base", ("python3",)).digest
    assert Tree("base", ("python3",)).digest != Tree("base", ("python3", "curl")).digest
    assert Tree("base", ("python3",)).digest != Tree("base", ("python3",), ("usr/bin/perl*",)).digest


def test_what_is_removed_from_a_tree_is_removed_below_it_only(tmp_path: Path) -> None:
    outside, tree = tmp_path / "outside", tmp_path / "tree"
    (outside / "kept").mkdir(parents=True)
    for path in ("usr/share/doc/a", "usr/share/man", "usr/lib/python3", "usr/bin"):
        (tree / path).mkdir(parents=True)
    (tree / "usr/bin/perl5").touch()
    (tree / "usr/share/info").symlink_to(outside)
    remove(tree, ("usr/share/doc", "usr/share/info", "usr/bin/perl*", "not/there"))
    left = sorted(str(path.relative_to(tree)) for path in tree.rglob("*"))
    assert left == ["usr", "usr/bin", "usr/lib", "usr/lib/python3", "usr/share", "usr/share/man"]
    assert (outside / "kept").is_dir()


def test_apt_is_asked_for_the_mirror_of_this_release(programs: Path) -> None:
    script(programs / "apt-get", "printf 'http://mirror.example/a other\\nhttp://mirror.example/b bookworm\\n'")
    assert host.debian_mirror() == ["http://mirror.example/b"]


def test_the_cluster_has_a_control_plane_and_workers() -> None:
    roles = [node["role"] for node in kind_cluster.cluster_configuration(2)["nodes"]]
    assert roles == ["control-plane", "worker", "worker"]
