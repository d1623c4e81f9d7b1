"""The probes /healthz and /readyz, in plain HTTP without authentication: the kubelet has no token for them."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from coxswain.serving.http_server import serving

log = logging.getLogger(__name__)

Said = Callable[[], list[str]]


@asynccontextmanager
async def probes(
    listen: str, *, dead: Said, missing: Said, ready: Callable[[], bool], role: Said = list
) -> AsyncIterator[None]:
    """Serve /healthz and /readyz within the context.

    Args:
        listen: HOST:PORT.
        dead: Returns the dead watches; /healthz fails if there are any.
        missing: Returns the reasons for missing coverage; /readyz lists them.
        ready: Returns whether /readyz succeeds.
        role: Returns the role of this process in the leader election, for the body of /readyz.

    Raises:
        OSError: The address cannot be bound.
    """

    async def answer(request: web.BaseRequest) -> web.Response:
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405)
        match request.path:
            case "/healthz":
                against = dead()
                return _verdict(against or ["ok"], passed=not against)
            case "/readyz":
                return _verdict([*(missing() or ["ready"]), *role()], passed=ready())
        return web.Response(status=404)

    async with serving(listen, answer) as urls:
        log.info("probes at %s", urls)
        yield


def _verdict(lines: list[str], *, passed: bool) -> web.Response:
    return web.Response(status=200 if passed else 503, text="\n".join(lines) + "\n")
