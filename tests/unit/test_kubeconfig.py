"""Which cluster, user and files a kubeconfig means: the same as for kubectl."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.certificates import create_authority
from coxswain.kernel.api.connection import Connection, connection
from unit.tls_server import kubeconfig

VERSION = "client.authentication.k8s.io/v1"


def written(path: Path, current: str | None, *names: str, user: str = "t") -> Path:
    """Write a kubeconfig with a cluster, user and context of each name."""
    content: dict[str, Any] = {
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.example"}} for name in names],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names],
        "users": [{"name": name, "user": {"token": user}} for name in names],
    }
    path.write_text(yaml.safe_dump(content if current is None else {**content, "current-context": current}))
    return path


def opened(path: Path | None = None) -> Connection:
    return asyncio.run(_opened(path))


async def _opened(path: Path | None) -> Connection:
    return await connection(path, None, token_interval=60)


@pytest.mark.parametrize(
    ("currents", "server"),
    [(("a", "b"), "a"), ((None, "b"), "b"), (("", "b"), "b"), (("a", ""), "a"), (("a", None), "a"), (("b", "a"), "b")],
)
def test_the_first_current_context_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, currents: tuple[str | None, str | None], server: str
) -> None:
    """The last one counted, so the operator wrote to another cluster than kubectl."""
    files = [written(tmp_path / name, current, name) for name, current in zip("ab", currents, strict=True)]
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/missing:{files[0]}::{files[1]}")
    assert opened().host == f"https://{server}.example"


def test_the_first_file_with_a_name_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [written(tmp_path / "one", None, "a", user="one"), written(tmp_path / "two", "a", "a", user="two")]
    monkeypatch.setenv("KUBECONFIG", f"{files[0]}:{files[1]}")

    assert authorization() == "Bearer one"


def test_an_empty_kubeconfig_variable_means_the_default_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".kube").mkdir()
    written(tmp_path / ".kube" / "config", "a", "a")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", "")
    assert opened().host == "https://a.example"


def test_the_flag_is_one_file_whatever_its_name(tmp_path: Path) -> None:
    assert opened(written(tmp_path / "at-10:30.yaml", "a", "a")).host == "https://a.example"


def plugin(folder: Path, **more: Any) -> dict[str, Any]:
    """Write an exec plugin that keeps its input and returns a token, and return a user with it."""
    folder.mkdir()
    answer = json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": {"token": "from-plugin"}})
    program = folder / "plugin"
    program.write_text(f"#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO\" > {folder}/input\necho '{answer}'\n")
    program.chmod(0o755)
    return {"exec": {"apiVersion": VERSION, "command": str(program), **more}}


def authorization(path: Path | None = None) -> str | None:
    async def read() -> str | None:
        return await (await _opened(path)).authorization()

    return asyncio.run(read())


def test_the_command_of_a_plugin_is_relative_to_its_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = plugin(tmp_path / "bin", command="./bin/plugin")
    path = kubeconfig(tmp_path, {"server": "https://a.example"}, user)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert authorization(path) == "Bearer from-plugin"
    assert authorization(Path("../kubeconfig")) == "Bearer from-plugin"


def test_the_command_of_a_plugin_without_a_slash_is_in_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = kubeconfig(tmp_path, {"server": "https://a.example"}, plugin(tmp_path / "bin", command="plugin"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    assert authorization(path) == "Bearer from-plugin"


@pytest.mark.parametrize("asked", [True, False])
def test_a_plugin_gets_the_cluster_if_it_asks_for_it(tmp_path: Path, asked: bool) -> None:
    authority = create_authority(tmp_path, "ca").certificate_file
    cluster = {"server": "https://a.example/c", "tls-server-name": "b", "proxy-url": "http://proxy.example:3128"}
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    user = plugin(tmp_path / "bin", provideClusterInfo=asked)
    path = kubeconfig(tmp_path, {**cluster, "certificate-authority": authority.name, "extensions": [extension]}, user)
    assert authorization(path) == "Bearer from-plugin"
    data = base64.b64encode(authority.read_bytes()).decode()
    expected = {**cluster, "certificate-authority-data": data, "config": {"audience": "x"}}
    spec = json.loads((tmp_path / "bin" / "input").read_text())["spec"]
    assert spec.get("cluster") == (expected if asked else None)


@pytest.mark.parametrize(("file", "expected"), [("of-the-file\n", "of-the-file"), (None, "inline"), ("\n", "inline")])
def test_a_token_file_has_precedence_over_a_token(tmp_path: Path, file: str | None, expected: str) -> None:
    path = kubeconfig(tmp_path, {"server": "https://a.example"}, {"token": "inline", "tokenFile": "file"})
    if file is not None:
        (tmp_path / "file").write_text(file)
    assert authorization(path) == f"Bearer {expected}"
