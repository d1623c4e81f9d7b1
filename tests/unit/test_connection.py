"""The connection: one set of settings for our client and Kopf's session, and the rotation of each credential."""

import asyncio
import base64
import json
import stat
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from cluster.certificates import create_authority
from coxswain.kernel.api import connection as connections
from coxswain.kernel.api.connection import Connection, connection
from coxswain.kernel.api.errors import Unreachable
from coxswain.kernel.api.kubeconfig import NoConnection
from coxswain.kernel.api.transport import HttpTransport
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching.event_bridge import Activity
from coxswain.kernel.watching.session import session
from coxswain.settings import WatchSettings
from rendered import KINDS
from unit.tls_server import NAME, TlsServer, kubeconfig, tls_serving

QUICK = WatchSettings(reopen_interval=0.1)
"""After a 401, Kopf's session waits this long before the next request."""

Ask = Callable[[str], Awaitable[int]]
"""Sends a GET of a path and returns the status."""


class Deaf:
    """An event sink that keeps nothing."""

    def event(self, kind: Kind, change: str | None, raw: Any) -> None: ...
    def watch_started(self, kind: Kind, namespace: str | None) -> None: ...
    def watch_activity(self, kind: Kind, namespace: str | None, activity: Activity) -> None: ...


class Client:
    """Our transport, or Kopf's session."""

    def __init__(self, name: str, made: Connection) -> None:
        self._made = made
        self._ours = HttpTransport(made) if name == "ours" else None
        self._kopfs = None if self._ours else session(made, KINDS.watched, [None], QUICK, Deaf())

    async def ask(self, path: str = "/version") -> int:
        if self._ours:
            answer = await self._ours.send("GET", path, query=(), headers={}, body=None, seconds=10)
            if answer.status == 401:
                self._ours.invalidate_credentials()
            return answer.status
        assert self._kopfs is not None
        async with asyncio.timeout(20), self._kopfs.get(self._made.host + path) as response:
            return response.status

    async def close(self) -> None:
        await (self._ours or self._kopfs).close()  # type: ignore[union-attr]


@pytest.fixture(params=["ours", "kopf's"])
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def during(
    directory: Path,
    name: str,
    file: Callable[[TlsServer], Path],
    body: Callable[[TlsServer, Client], Awaitable[None]],
    interval: float = 3600,
) -> None:
    """Run a test with a server and with a client of a kubeconfig."""

    async def whole() -> None:
        async with tls_serving(directory) as server:
            asker = Client(name, await connection(file(server), None, token_interval=interval))
            try:
                await body(server, asker)
            finally:
                await asker.close()

    asyncio.run(whole())


def cluster(server: TlsServer, **more: Any) -> dict[str, Any]:
    """Return the cluster of a kubeconfig, with trust in the server."""
    authority = str(server.authority.certificate_file)
    return {"server": server.url, "certificate-authority": authority, "tls-server-name": NAME, **more}


def data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def test_the_server_name_is_the_kubeconfigs(tmp_path: Path, client: str) -> None:
    """K16: the server's address is not in its certificate."""

    async def body(_: TlsServer, asker: Client) -> None:
        assert await asker.ask() == 200

    during(tmp_path, client, lambda server: kubeconfig(tmp_path, cluster(server), {"token": "t"}), body)


def test_another_server_name_is_refused(tmp_path: Path, client: str) -> None:
    def file(server: TlsServer) -> Path:
        return kubeconfig(tmp_path, cluster(server, **{"tls-server-name": "other.corp"}), {})

    async def body(server: TlsServer, asker: Client) -> None:
        with pytest.raises((Unreachable, aiohttp.ClientConnectionError), match=r"other\.corp"):
            await asker.ask()
        assert not server.asked

    during(tmp_path, client, file, body)


def test_trust_and_certificate_as_data(tmp_path: Path, client: str) -> None:
    def file(server: TlsServer) -> Path:
        certificate, key = server.authority.issue(tmp_path, "me", (), client=True)
        given = {"server": server.url, "certificate-authority-data": data(server.authority.certificate_file)}
        user = {"client-certificate-data": data(certificate), "client-key-data": data(key)}
        return kubeconfig(tmp_path, {**given, "tls-server-name": NAME}, user)

    async def body(server: TlsServer, asker: Client) -> None:
        assert await asker.ask() == 200
        assert server.asked == [("me", None)]

    during(tmp_path, client, file, body)


def test_a_server_that_is_not_to_be_verified(tmp_path: Path, client: str) -> None:
    def file(server: TlsServer) -> Path:
        return kubeconfig(tmp_path, {"server": server.url, "insecure-skip-tls-verify": True}, {"token": "t"})

    async def body(server: TlsServer, asker: Client) -> None:
        assert await asker.ask() == 200
        assert server.asked == [(None, "Bearer t")]

    during(tmp_path, client, file, body)


def test_the_proxy_is_the_kubeconfigs(tmp_path: Path, client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    heard: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append((await reader.readuntil(b"\r\n\r\n")).decode().splitlines()[0])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        writer.close()

    async def whole() -> None:
        proxy = await asyncio.start_server(answer, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        file = kubeconfig(tmp_path, {"server": "http://api.invalid:6443", "proxy-url": address}, {"token": "t"})
        asker = Client(client, await connection(file, None, token_interval=60))
        assert await asker.ask() == 200
        await asker.close()
        proxy.close()

    asyncio.run(whole())
    assert heard == ["GET http://api.invalid:6443/version HTTP/1.1"]


def test_certificate_files_are_rotated(tmp_path: Path, client: str) -> None:
    """K30: the files are read again at the next renewal, and the next connection uses them."""

    def file(server: TlsServer) -> Path:
        server.authority.issue(tmp_path, "me", (), client=True)
        return kubeconfig(tmp_path, cluster(server), {"client-certificate": "me.crt", "client-key": "me.key"})

    async def body(server: TlsServer, asker: Client) -> None:
        assert await asker.ask() == 200
        certificate, key = server.authority.issue(tmp_path, "next", (), client=True)
        (tmp_path / "me.crt").write_bytes(certificate.read_bytes())
        assert await asker.ask() == 200, "a certificate is not used before its key is there"
        (tmp_path / "me.key").write_bytes(key.read_bytes())
        assert await asker.ask() == 200
        assert [name for name, _ in server.asked] == ["me", "me", "next"]

    during(tmp_path, client, file, body, interval=0)


@pytest.mark.thorough
def test_an_inline_token_is_rotated(tmp_path: Path, client: str) -> None:
    def file(server: TlsServer) -> Path:
        return kubeconfig(tmp_path, cluster(server), {"token": "first"})

    async def body(server: TlsServer, asker: Client) -> None:
        assert await asker.ask() == 200
        kubeconfig(tmp_path, cluster(server), {"token": "second"})
        server.only = "Bearer second"
        assert 200 in [await asker.ask() for _ in range(2)], "the token is read again after a 401"
        assert server.asked[-1] == (None, "Bearer second")

    during(tmp_path, client, file, body)


def test_the_authority_is_rotated(tmp_path: Path, client: str) -> None:
    """The CA is read again if the server is not trusted. The old CA is no longer trusted then."""

    def file(server: TlsServer) -> Path:
        (tmp_path / "ca.crt").write_bytes(server.authority.certificate_file.read_bytes())
        return kubeconfig(tmp_path, cluster(server, **{"certificate-authority": "ca.crt"}), {})

    async def body(server: TlsServer, asker: Client) -> None:
        assert await asker.ask() == 200
        old, new = server.authority, create_authority(tmp_path, "new")
        server.take(new)
        (tmp_path / "ca.crt").write_bytes(new.certificate_file.read_bytes())
        with pytest.raises((Unreachable, aiohttp.ClientConnectionError), match="CERTIFICATE_VERIFY_FAILED"):
            await asker.ask()
        assert await asker.ask() == 200
        server.take(old)
        with pytest.raises((Unreachable, aiohttp.ClientConnectionError), match="CERTIFICATE_VERIFY_FAILED"):
            await asker.ask()

    during(tmp_path, client, file, body)


class Plugin:
    """A credentials plugin that counts its runs."""

    def __init__(self, directory: Path) -> None:
        self._answer, self._runs, self._program = directory / "answer", directory / "runs", directory / "plugin"
        program = self._program
        program.write_text(f"#!/bin/sh\necho >> {self._runs}\ncat {self._answer}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(program)}}

    @property
    def runs(self) -> int:
        return len(self._runs.read_text().splitlines())

    def returns(self, lifetime: timedelta = timedelta(hours=1), **status: str) -> None:
        expires = (datetime.now(UTC) + lifetime).strftime("%Y-%m-%dT%H:%M:%SZ")
        answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
        self._answer.write_text(json.dumps({**answer, "status": {**status, "expirationTimestamp": expires}}))

    def returns_certificate(self, server: TlsServer, name: str, lifetime: timedelta = timedelta(hours=1)) -> None:
        certificate, key = server.authority.issue(server.directory, name, (), client=True)
        self.returns(lifetime, clientCertificateData=certificate.read_text(), clientKeyData=key.read_text())

    def hangs(self) -> None:
        self._program.write_text("#!/bin/sh\nexec sleep 60\n")

    def breaks(self, answer: str) -> None:
        self._answer.write_text(answer)


@pytest.mark.thorough
def test_the_certificate_of_a_plugin_is_rotated(tmp_path: Path, client: str) -> None:
    plugin = Plugin(tmp_path)

    def file(server: TlsServer) -> Path:
        plugin.returns_certificate(server, "first", timedelta(seconds=1))
        return kubeconfig(tmp_path, cluster(server), plugin.user)

    async def body(server: TlsServer, asker: Client) -> None:
        plugin.returns_certificate(server, "second")
        assert [await asker.ask() for _ in range(3)] == [200] * 3
        assert {name for name, _ in server.asked} == {"second"}, "the first certificate has expired, allowing for skew"
        assert plugin.runs == 2, "the second certificate has not expired"
        plugin.returns_certificate(server, "third")
        server.only = "third"
        assert 200 in [await asker.ask() for _ in range(2)], "the plugin runs again after a 401, even before the expiry"
        assert server.asked[-1] == ("third", None)

    during(tmp_path, client, file, body, interval=0)


@pytest.mark.parametrize(
    "answer",
    ["", "no JSON", "[]", '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {}}'],
)
def test_a_plugin_that_fails_leaves_the_old_credentials(
    tmp_path: Path, client: str, answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    """K27: a failure of a plugin never fails a request and never ends the process."""
    plugin = Plugin(tmp_path)

    def file(server: TlsServer) -> Path:
        plugin.returns(timedelta(seconds=1), token="t")
        return kubeconfig(tmp_path, cluster(server), plugin.user)

    async def body(server: TlsServer, asker: Client) -> None:
        plugin.breaks(answer)
        assert await asker.ask() == 200
        assert server.asked == [(None, "Bearer t")]
        assert "reading the credentials failed, keeping the old ones" in caplog.text
        with pytest.raises(NoConnection):
            await connection(tmp_path / "kubeconfig", None, token_interval=1)

    during(tmp_path, client, file, body, interval=0)


def test_an_error_of_any_type_leaves_the_old_credentials(tmp_path: Path, client: str) -> None:
    """K27: the library raises ValueError for the id-token of an identity provider, and other types for other errors."""

    def file(server: TlsServer) -> Path:
        return kubeconfig(tmp_path, cluster(server), {"token": "t"})

    async def body(server: TlsServer, asker: Client) -> None:
        for token in ("a", "a.b.c"):
            provider = {"auth-provider": {"name": "oidc", "config": {"id-token": token}}}
            kubeconfig(tmp_path, cluster(server), provider)
            assert await asker.ask() == 200
        (tmp_path / "kubeconfig").write_text("{")
        assert await asker.ask() == 200
        assert set(server.asked) == {(None, "Bearer t")}

    during(tmp_path, client, file, body, interval=0)


def test_a_plugin_that_hangs_holds_up_one_request_for_a_while(
    tmp_path: Path, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = Plugin(tmp_path)

    def file(server: TlsServer) -> Path:
        plugin.returns(timedelta(seconds=1), token="t")
        return kubeconfig(tmp_path, cluster(server), plugin.user)

    async def body(server: TlsServer, asker: Client) -> None:
        plugin.hangs()
        monkeypatch.setattr(connections, "_READ_SECONDS", 0.2)
        assert await asker.ask() == 200
        assert server.asked == [(None, "Bearer t")]

    during(tmp_path, client, file, body, interval=0)
