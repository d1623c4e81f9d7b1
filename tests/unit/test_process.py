"""The operator as its own process: its shutdown while something hangs, and its probes during a flood."""

import asyncio
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import pytest

from coxswain.serving import http_server, probes
from coxswain.settings import Settings
from unit.tls_server import kubeconfig

ROOT = Path(__file__).parents[2]
DRAIN = Settings().drain_timeout


class Running:
    """An operator process, and its log so far."""

    def __init__(self, command: list[str]) -> None:
        environment = {
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PATH": os.environ["PATH"],
        }
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        self.lines: list[str] = []
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(iter(self.process.stderr.readline, ""))

    def wait_for(self, words: str, after: int = 0) -> str:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = [line for line in self.lines[after:] if words in line]
            if found:
                return found[0]
            assert self.process.poll() is None, self.lines
            time.sleep(0.01)
        raise AssertionError(self.lines)

    def end(self) -> float:
        """Return the seconds from SIGTERM to the exit with status 0."""
        begun = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0
        self._reader.join(5)
        return time.monotonic() - begun


@contextmanager
def running(file: Path, *more: str, module: str = "coxswain", files: int | None = None) -> Iterator[Running]:
    limit = ["prlimit", f"--nofile={files}"] if files else []
    arguments = ["--kubeconfig", str(file), "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", *more]
    operator = Running([*limit, sys.executable, "-m", module, *arguments])
    try:
        yield operator
    finally:
        operator.process.kill()
        operator.process.wait()


@pytest.mark.thorough
def test_sigterm_while_a_dns_lookup_hangs(tmp_path: Path) -> None:
    """K19: nothing can interrupt getaddrinfo, and the process does not wait for it."""
    file = kubeconfig(tmp_path, {"server": "http://api.corp:6443"}, {"token": "t"})
    with running(file, module="unit.slow_dns") as operator:
        operator.wait_for("a lookup hangs")
        assert operator.end() < DRAIN
        assert any("ended" in line for line in operator.lines), "the last log lines are not lost"


@pytest.mark.thorough
@pytest.mark.parametrize("flag", ["--listen", "--metrics-listen"])
def test_sigterm_while_the_lookup_of_its_own_address_hangs(tmp_path: Path, flag: str) -> None:
    file = kubeconfig(tmp_path, {"server": "http://127.0.0.1:1"}, {"token": "t"})
    with running(file, flag, "api.corp:0", module="unit.slow_dns") as operator:
        operator.wait_for("a lookup hangs")
        assert operator.end() < DRAIN
        assert not [line for line in operator.lines if "serving the cluster" in line or "Traceback" in line]


@pytest.mark.thorough
def test_sigterm_while_a_plugin_hangs_at_the_start(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    plugin.chmod(0o700)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}}
    with running(kubeconfig(tmp_path, {"server": "http://127.0.0.1:1"}, user)) as operator:
        deadline = time.monotonic() + 30
        while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert operator.end() < DRAIN


def retransmissions(connection: socket.socket) -> int:
    """Return the number of retransmitted packets of a connection: `tcpi_total_retrans` of linux/tcp.h.

    A dropped first packet is sent again after a second. All other time of a probe depends on the machine.
    """
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    (count,) = struct.unpack_from("=I", info, 100)
    return int(count)


@pytest.mark.thorough
def test_a_thousand_idle_connections(tmp_path: Path) -> None:
    """S5: the probes answer, and file descriptors remain for the rest of the operator."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 1500:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    with (
        running(kubeconfig(tmp_path, {"server": "http://127.0.0.1:1"}, {}), files=256) as operator,
        ExitStack() as held,
    ):
        host, port = operator.wait_for("probes at http://").rsplit("//", 1)[1].strip().split(":")
        for _ in range(1000):
            held.enter_context(socket.create_connection((host, int(port)), timeout=5))
        with socket.create_connection((host, int(port)), timeout=5) as probe:
            assert retransmissions(probe) == 0, "the accept queue of the kernel has room for one more"
            probe.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"".join(iter(lambda: probe.recv(4096), b"")).endswith(b"\r\n\r\nok\n")
        assert len(list(Path(f"/proc/{operator.process.pid}/fd").iterdir())) < 128
        assert "Connect call failed" in operator.wait_for("discovery failed", after=len(operator.lines))
        assert not [line for line in operator.lines if "Too many open files" in line or "Traceback" in line]


@pytest.mark.thorough
def test_a_connection_has_little_time(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A client that sends a header byte by byte is disconnected. A connection serves one request."""
    monkeypatch.setattr(http_server, "CONNECTION_SECONDS", 0.3)
    caplog.set_level("INFO")

    async def body() -> None:
        async with probes.probes(
            "127.0.0.1:0",
            dead=list,
            missing=lambda: ["services not listed yet"],
            ready=lambda: False,
        ):
            port = int(caplog.messages[-1].rsplit(":", 1)[1])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            sending = asyncio.create_task(_dribble(writer))
            async with asyncio.timeout(5):
                assert await _rest(reader) == b""
            await sending
            assert b"200 OK" in await _asked(port, "/healthz")
            assert (await _asked(port, "/readyz")).endswith(b"services not listed yet\n")
            assert b"404" in await _asked(port, "/metrics"), "on a port of their own"

    asyncio.run(body())


async def _dribble(writer: asyncio.StreamWriter) -> None:
    try:
        writer.write(b"GET /healthz HTTP/1.1\r\nX: ")
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)
    except ConnectionError:
        writer.close()


async def _rest(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""


async def _asked(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    async with asyncio.timeout(5):
        answer = await reader.read()
    writer.close()
    return answer
