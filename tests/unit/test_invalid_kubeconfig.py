"""An invalid kubeconfig: one line with the file and the remedy, and exit status 1 (K32)."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from coxswain.kernel.api.connection import connection
from coxswain.kernel.api.kubeconfig import NoConnection

OPERATOR = str(Path(__file__).parents[2] / "operator")

CONTEXTS = "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
CLUSTERS = "clusters: [{name: c, cluster: {server: https://127.0.0.1:1, certificate-authority: ca.crt}}]\n"

CASES = {
    "malformed": ("a: [1\nb: }{", "is not YAML: ", "kubectl config view"),
    "binary": ("\x00", "is not YAML: ", "kubectl config view"),
    "empty": ("", "is empty", "set --kubeconfig or KUBECONFIG"),
    "a list": ("[]", "is not a mapping", "kubectl config view"),
    "odd sections": ("contexts: {a: b}", "contexts that are not a list of named entries", "kubectl config view"),
    "no current context": (CONTEXTS, "has no current context", "set --context to one of c"),
    "no contexts": ("{}", "has no current context", "kubectl config set-context"),
    "missing context": (CONTEXTS + "current-context: d\n", "has no context 'd'", "set --context to one of c"),
    "missing cluster": (CONTEXTS + "current-context: c\n", "Expected object with name c", "check --kubeconfig"),
    "missing CA": (CONTEXTS + CLUSTERS + "current-context: c\n", "No such file", "check --kubeconfig"),
    "odd user": (CONTEXTS + CLUSTERS + "current-context: c\nusers: [{name: u, user: 7}]\n", "", "check --kubeconfig"),
}


def refused(path: Path, context: str | None = None) -> str:
    """Return the error line for a refused kubeconfig."""
    with pytest.raises(NoConnection) as refusal:
        asyncio.run(connection(path, context, token_interval=60))
    (line,) = str(refusal.value).splitlines()
    assert str(path) in line
    return line


@pytest.mark.thorough
@pytest.mark.parametrize("program", ["coxswain", "example"])
def test_the_operator_ends_with_one_line(tmp_path: Path, program: str) -> None:
    """One of the invalid kubeconfigs below is enough. A YAML error is chosen because its message has several lines."""
    path = tmp_path / "kubeconfig"
    path.write_text(CASES["malformed"][0])
    command = [
        sys.executable,
        "-m",
        program,
        "--kubeconfig",
        str(path),
        "--listen",
        "127.0.0.1:0",
        "--metrics-listen=0",
    ]
    done = subprocess.run(
        command, stderr=subprocess.PIPE, text=True, env={"PYTHONPATH": OPERATOR}, timeout=60, check=False
    )
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{program}: ")
    assert str(path) in line


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_and_what_helps(tmp_path: Path, case: str) -> None:
    content, trouble, remedy = CASES[case]
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    line = refused(path)
    assert trouble in line
    assert remedy in line


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ("http://a..b:6443", "label empty or too long"),
        (f"https://{'a' * 64}.example.com", "label empty or too long"),
        ("http://[::1", "Invalid IPv6 URL"),
        ("https://api.example.com:70000", "Port out of range"),
        ("ftp://x", "it needs http or https"),
        ("api.example.com", "it needs http or https"),
        ("", "it needs http or https"),
        ("http://a b", "its host has a character that is not allowed"),
        ("http://a\u00a0b", "its host has a character that is not allowed"),
        ("https://<host>:6443", "its host has a character that is not allowed"),
    ],
)
def test_a_server_that_is_no_url(tmp_path: Path, server: str, reason: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(CONTEXTS + f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\ncurrent-context: c\n")
    line = refused(path)
    assert f"the server {server!r} is no valid URL (" in line
    assert reason in line
    assert "kubectl config set-cluster CLUSTER --server=https://HOST:PORT" in line


@pytest.mark.parametrize(
    ("proxy", "reason"),
    [
        ("proxy.example:3128", "it needs http or https"),
        ("proxy.example", "it needs http or https"),
        ("http://:3128", "it needs http or https, a host and a port"),
        ("http://a b:3128", "its host has a character that is not allowed"),
        ("http://proxy.example:70000", "Port out of range"),
        ("socks5://127.0.0.1:1080", "SOCKS is not supported"),
        ("socks5h://me:secret@127.0.0.1:1080", "SOCKS is not supported"),
        ("me:secret@proxy.example:3128", "it needs http or https"),
    ],
)
def test_a_proxy_that_cannot_be_used(tmp_path: Path, proxy: str, reason: str) -> None:
    """The operator retried for ever, and named no proxy."""
    path = tmp_path / "kubeconfig"
    cluster = f"{{server: 'https://10.0.0.1', proxy-url: '{proxy}'}}"
    path.write_text(CONTEXTS + f"clusters: [{{name: c, cluster: {cluster}}}]\ncurrent-context: c\n")
    line = refused(path)
    assert f"the proxy-url {proxy.rpartition('@')[2]!r} cannot be used ({reason}" in line
    assert "kubectl config set-cluster CLUSTER --proxy-url=http://HOST:PORT" in line
    assert "secret" not in line


@pytest.mark.parametrize("proxy", ["http://proxy.example:3128", "https://me:secret@[::1]:3128", ""])
def test_a_proxy_that_can_be_used(tmp_path: Path, proxy: str) -> None:
    path = tmp_path / "kubeconfig"
    cluster = f"{{server: 'https://10.0.0.1', proxy-url: '{proxy}'}}"
    path.write_text(CONTEXTS + f"clusters: [{{name: c, cluster: {cluster}}}]\ncurrent-context: c\n")

    async def connected() -> str:
        return (await connection(path, None, token_interval=60)).host

    assert asyncio.run(connected()) == "https://10.0.0.1"


@pytest.mark.parametrize("server", ["https://10.0.0.1", "http://[::1]:6443", "https://api.example.com./k8s/clusters/c"])
def test_a_server_that_is_a_url(tmp_path: Path, server: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(CONTEXTS + f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\ncurrent-context: c\n")

    async def connected() -> str:
        return (await connection(path, None, token_interval=60)).host

    assert asyncio.run(connected()) == server


def test_a_directory(tmp_path: Path) -> None:
    assert "is a directory" in refused(tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "does not exist; set --kubeconfig or KUBECONFIG" in refused(tmp_path / "nowhere")


def test_a_context_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(CONTEXTS + "current-context: c\n")
    assert "has no context 'x'; set --context to one of c" in refused(path, "x")


def test_a_ca_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(CONTEXTS + CLUSTERS + "current-context: c\n")
    (tmp_path / "ca.crt").write_text("no certificate")
    refused(path)
    (tmp_path / "ca.crt").write_text("")
    assert "the CA bundle is empty" in refused(path)
