"""Connections to the API server: URL, TLS, credentials and proxy, shared by our client and Kopf's session.

The CA and the proxy come from the kubeconfig; environment variables such as HTTPS_PROXY are ignored.
"""

import asyncio
import logging
import re
import ssl
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import yarl
from aiohttp.connector import Connection as Wire
from aiohttp.tracing import Trace
from kubernetes.aio.config import ConfigException

from coxswain.kernel.api.credentials import (
    ClientConfig,
    Fixed,
    InCluster,
    Kubeconfig,
    Source,
    Tls,
    one_line,
)
from coxswain.kernel.api.kubeconfig import NoConnection
from coxswain.kernel.api.sockets import tcp_socket
from coxswain.pem import load_chain

log = logging.getLogger(__name__)

_READ_SECONDS = 20.0
"""Timeout to read the credentials, including a run of the exec plugin."""
_PERIODIC_WAIT = 1.0
"""Maximum seconds that a periodic read delays a request. The old credentials still work, and a slow exec plugin must
not cost the leader its Lease."""
_RENEWAL_WAIT = 3.0
"""The same for a read after a 401. It is less than the 5 s of a request for the Lease: the plugin may hang, and the
rejection may have been wrong."""
_RENEWAL_INTERVAL = 5.0
"""Minimum seconds between two renewals of rejected credentials, because each may run an exec plugin."""
_HOST = re.compile(rb"[\w.:%-]+")
"""A host name after its encoding, or an IP address. aiohttp looks up any other text, without end."""
_OLD_CONNECTION_SECONDS = 30.0
"""Seconds until connections with old certificates are closed after a rotation.

Our own requests have completed by then, and watches reconnect.
"""


async def connection(kubeconfig: Path | None, context: str | None, *, token_interval: float) -> "Connection":
    """Return a connection for the current event loop; its credentials are read again every `token_interval` seconds.

    Raises:
        NoConnection: no usable credentials. The message names the tried sources, on one line.
    """
    where = f"the kubeconfig {kubeconfig}" if kubeconfig else "a pod's ServiceAccount or kubectl's kubeconfig"
    try:
        source, config = await _find_source(kubeconfig, context)
        established = Connection(source, config, interval=token_interval)
        established.check()
    except NoConnection:
        raise
    # A kubeconfig may have any content, and the library raises many types of errors for it.
    except Exception as error:
        raise NoConnection(f"no way to the API server by {where}: {one_line(error)}; check --kubeconfig") from error
    return established


def plain(host: str) -> "Connection":
    """Return a connection without credentials."""
    config = ClientConfig(host)
    return Connection(Fixed(config), config, interval=float("inf"))


async def _find_source(kubeconfig: Path | None, context: str | None) -> tuple[Source, ClientConfig]:
    if kubeconfig is None and context is None:
        pod = InCluster()
        try:
            return pod, await pod.read()
        except ConfigException as error:
            log.debug("not running in a pod (%s), using the default kubeconfig", one_line(error))
    source = Kubeconfig(kubeconfig, context)
    async with asyncio.timeout(_READ_SECONDS):
        return source, await source.read()


class Connection:
    """A connection to the API server with automatic reload of rotated credentials."""

    def __init__(self, source: Source, config: ClientConfig, *, interval: float) -> None:
        """Start with `config`; read the source again every `interval` seconds."""
        self._source = source
        self._config = config
        self._interval = interval
        self._next_read = _now() + interval
        self._last_renewal = float("-inf")
        self._renewal_requested = False
        self._reading: asyncio.Task[None] | None = None

    @property
    def host(self) -> str:
        """The URL of the API server."""
        return self._config.host

    @property
    def namespace(self) -> str:
        """The namespace of the pod, or of the kubeconfig's context; `default` if it has none."""
        return self._config.namespace

    @property
    def tls(self) -> Tls:
        """The current CA bundle and client certificate."""
        return self._config.tls

    def check(self) -> None:
        """Check the URLs of the API server and the proxy, and load the CA bundle and the client certificate.

        Raises:
            ValueError, OSError: one of them is not valid.
        """
        _check_url(self.host)
        if self._config.proxy is not None:
            _check_proxy(self._config.proxy)
        _ssl_context(self._config.tls)

    async def authorization(self) -> str | None:
        """Return the current Authorization header, reloaded if it is due."""
        if self._reading is None and _now() >= self._next_read:
            self._reading = asyncio.create_task(self._refresh(), name="credentials")
        if self._reading is not None:
            # A request that gives up does not cancel the task, so a later request gets its result.
            await asyncio.wait([self._reading], timeout=_RENEWAL_WAIT if self._renewal_requested else _PERIODIC_WAIT)
        return self._config.authorization

    def invalidate(self) -> None:
        """Renew the credentials before the next request, after a 401 or a failed TLS handshake."""
        self._renewal_requested = True
        self._next_read = max(_now(), self._last_renewal + _RENEWAL_INTERVAL)

    def close(self) -> None:
        """Cancel a read in progress."""
        if self._reading is not None:
            self._reading.cancel()

    def session(
        self, user_agent: str, middlewares: Sequence[aiohttp.ClientMiddlewareType] = ()
    ) -> aiohttp.ClientSession:
        """Return an aiohttp session for the running event loop, with TLS, proxy and credentials configured."""
        origin = yarl.URL(self.host).origin()

        async def credentials(
            request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
        ) -> aiohttp.ClientResponse:
            if request.url.origin() != origin:
                # aiohttp follows redirects, and another server must not get the token.
                raise aiohttp.ClientConnectionError(f"{origin} redirects to {request.url.origin()}: not followed")
            authorization = await self.authorization()
            if authorization is not None:
                request.headers["Authorization"] = authorization
            request.server_hostname = self._config.tls.server_name
            try:
                return await send(request)
            except aiohttp.ClientSSLError:
                self.invalidate()
                raise

        return aiohttp.ClientSession(
            connector=_Connector(self),
            headers={"User-Agent": user_agent},
            middlewares=(*middlewares, credentials),
            proxy=self._config.proxy,
            trust_env=False,
            # One line of a watch contains a whole object.
            read_bufsize=2**21,
        )

    async def _refresh(self) -> None:
        """Reload the credentials. The old ones stay in use until new ones can be read and are valid."""
        renew = self._renewal_requested
        if renew:
            self._last_renewal = _now()
        try:
            async with asyncio.timeout(_READ_SECONDS):
                config = await self._source.read(renew=renew)
            if config.tls != self._config.tls:
                _ssl_context(config.tls)
        # Plugins, files and identity providers raise arbitrary errors. None of them may end a request's task or the
        # process.
        except Exception as error:  # noqa: BLE001
            log.warning("reading the credentials failed, keeping the old ones: %s", one_line(error))
            return
        finally:
            self._reading, self._renewal_requested = None, False
            self._next_read = _now() + self._interval
        before = self._config
        self._config = replace(before, authorization=config.authorization, tls=config.tls)
        if config.authorization != before.authorization:
            log.info("the token was rotated")
        if config.tls != before.tls:
            log.info("the CA or the client certificate was rotated")


class _Connector(aiohttp.TCPConnector):
    """Opens connections with the current certificates, with a new connection pool after each rotation."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(limit=0)
        self._connection = connection
        self._tls: Tls | None = None
        self._pools: list[aiohttp.TCPConnector] = []

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp's signature
    ) -> Wire:
        """Return a connection from the current pool."""
        return await self._pool().connect(req, traces, timeout)

    async def close(self, *, abort_ssl: bool = False) -> None:
        """Close all pools."""
        self._connection.close()
        for pool in self._pools:
            await pool.close(abort_ssl=abort_ssl)
        self._pools.clear()
        await super().close(abort_ssl=abort_ssl)

    def _pool(self) -> aiohttp.TCPConnector:
        if self._tls != self._connection.tls:
            for old in self._pools:
                asyncio.get_running_loop().call_later(_OLD_CONNECTION_SECONDS, self._retire, old)
            self._tls = self._connection.tls
            self._pools.append(aiohttp.TCPConnector(limit=0, ssl=_ssl_context(self._tls), socket_factory=tcp_socket))
        return self._pools[-1]

    def _retire(self, pool: aiohttp.TCPConnector) -> None:
        if pool in self._pools:
            self._pools.remove(pool)
            closing = asyncio.ensure_future(pool.close())
            closing.add_done_callback(lambda done: done.cancelled() or done.exception())


def _check_url(url: str) -> None:
    if defect := _url_defect(url):
        remedy = "set it: kubectl config set-cluster CLUSTER --server=https://HOST:PORT"
        raise ValueError(f"the server {url!r} is no valid URL ({defect}); {remedy}")


def _check_proxy(url: str) -> None:
    defect = "SOCKS is not supported" if url.startswith("socks") else _url_defect(url)
    if defect:
        # The text may contain a password.
        shown = url.rpartition("@")[2]
        remedy = "set an HTTP proxy: kubectl config set-cluster CLUSTER --proxy-url=http://HOST:PORT"
        raise ValueError(f"the proxy-url {shown!r} cannot be used ({defect}); {remedy}")


def _url_defect(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        # As for the lookup of the host.
        host, port = (parts.hostname or "").encode("idna"), parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme not in ("http", "https") or not host or port == 0:
        return "it needs http or https, a host and a port"
    return None if _HOST.fullmatch(host) else "its host has a character that is not allowed"


def _ssl_context(tls: Tls) -> ssl.SSLContext:
    """Return the TLS context. A configured CA bundle replaces the system's CAs."""
    if tls.authority is not None and not tls.authority.strip():
        raise ValueError("the CA bundle is empty")
    # `cadata` must be ASCII, but comments in a bundle may have other characters.
    authority = tls.authority.encode("ascii", "ignore").decode() if tls.authority else None
    context = ssl.create_default_context(cadata=authority)
    if tls.certificate:
        load_chain(context, tls.certificate, tls.key or "")
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _now() -> float:
    return asyncio.get_running_loop().time()
