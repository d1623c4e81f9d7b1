"""A TLS server for tests of the connection: it records its clients, and requires scripted credentials."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from cluster.certificates import Authority, create_authority

NAME = "api.corp"


@dataclass
class TlsServer:
    """Serves on the loopback address, by default with a certificate for NAME alone."""

    directory: Path
    context: ssl.SSLContext
    authority: Authority
    url: str = ""
    only: str | None = None
    """The required common name or Authorization header. Other requests get a 401."""
    asked: list[tuple[str | None, str | None]] = field(default_factory=list)
    """Common name of the client's certificate and Authorization header, for each request."""

    def take(self, authority: Authority, *names: str) -> None:
        """Use a certificate of this authority from now on."""
        self.context.load_cert_chain(*authority.issue(self.directory, "server", names or (NAME,)))

    async def answer(self, request: web.Request) -> web.Response:
        """Answer and close, so that each request has its own handshake."""
        assert request.transport is not None
        peer: Any = request.transport.get_extra_info("peercert") or {}
        names = [value for part in peer.get("subject", ()) for name, value in part if name == "commonName"]
        who = names[0] if names else None, request.headers.get("Authorization")
        self.asked.append(who)
        accepted = self.only is None or self.only in who
        response = web.json_response({"resources": [], "items": []}, status=200 if accepted else 401)
        response.force_close()
        return response


@asynccontextmanager
async def tls_serving(directory: Path) -> AsyncIterator[TlsServer]:
    """Serve until the block ends."""
    authority = create_authority(directory, "authority")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.certificate_file))
    context.verify_mode = ssl.CERT_OPTIONAL
    server = TlsServer(directory, context, authority)
    server.take(authority)
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    server.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


def kubeconfig(directory: Path, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    """Write a kubeconfig."""
    path = directory / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path
