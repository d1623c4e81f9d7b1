"""Serves /metrics on a port of its own, with TLS, authentication and authorization if asked for."""

import logging
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from coxswain.gauges import Readings, collected
from coxswain.kernel.api.access_review import AccessReviewer
from coxswain.kernel.api.credentials import one_line
from coxswain.kernel.api.errors import Refused, RequestFailed
from coxswain.serving.http_server import Tls, serving

log = logging.getLogger(__name__)

PATH = "/metrics"

_SERVICE_ACCOUNT = "system:serviceaccount:"


class Guard:
    """Answers requests whose token gives no right to the metrics."""

    def __init__(self, reviewer: AccessReviewer, *, role: str) -> None:
        """Ask `reviewer`. `role` is the ClusterRole that a message tells users to bind."""
        self._reviewer = reviewer
        self._role = role
        self._failure: str | None = None

    async def refusal(self, request: web.BaseRequest) -> web.Response | None:
        """Return the answer to a request that is refused; None if it is allowed."""
        token = bearer_token(request.headers.get("Authorization"))
        if token is None:
            return _unauthorized("the bearer token is missing, or is not ASCII")
        try:
            access = await self._reviewer.access(token)
        except RequestFailed as error:
            # A webhook or a proxy on the way may quote the request.
            return self._failed(error, one_line(error).replace(token, "TOKEN"))
        self._failure = None
        if access.user is None:
            return _unauthorized("the bearer token is not valid, or has expired")
        return None if access.allowed else web.Response(status=403, text=forbidden(access.user, self._role))

    def _failed(self, error: RequestFailed, reason: str) -> web.Response:
        if reason != self._failure:
            log.warning("requests for the metrics cannot be authorized: %s", reason)
        self._failure = reason
        if isinstance(error, Refused) and error.status == 403:
            return web.Response(status=500, text=_MISSING_RIGHTS.format(reason=reason))
        return web.Response(status=503, text=f"the API server cannot authorize the request: {reason}\n")


_MISSING_RIGHTS = """the operator may not review tokens: {reason}
Grant it to create tokenreviews.authentication.k8s.io and subjectaccessreviews.authorization.k8s.io, as
manifests/components/metrics does, or start it with --metrics-secure=false.
"""


@asynccontextmanager
async def metrics_server(
    listen: str, readings: Callable[[], Readings], *, tls: Tls | None = None, guard: Guard | None = None
) -> AsyncIterator[None]:
    """Serve /metrics within the context.

    Args:
        listen: HOST:PORT.
        readings: Returns the gauges.
        tls: Returns the TLS context of a connection; None for plain HTTP.
        guard: Refuses requests; None to answer everyone.

    Raises:
        OSError: The address cannot be bound.
    """

    async def answer(request: web.BaseRequest) -> web.Response:
        if request.path != PATH:
            return web.Response(status=404)
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405)
        refusal = await guard.refusal(request) if guard else None
        return refusal or web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async with serving(listen, answer, tls=tls) as urls:
        log.info("metrics at %s", urls)
        with collected(readings):
            yield


def bearer_token(header: str | None) -> str | None:
    """Return the token of an Authorization header; None without one, or if it is not ASCII (RFC 6750)."""
    scheme, _, token = (header or "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" and token.isascii() else None


def forbidden(user: str, role: str) -> str:
    """Return the message for a user without the right, with the command that grants it."""
    if user.startswith(_SERVICE_ACCOUNT):
        namespace, _, name = user.removeprefix(_SERVICE_ACCOUNT).partition(":")
        subject, binding = f"--serviceaccount={namespace}:{name}", f"{namespace}-{name}-{role}"
    else:
        subject, binding = f"--user={user}", role
    command = shlex.join(["kubectl", "create", "clusterrolebinding", binding, f"--clusterrole={role}", subject])
    return f'User "{user}" may not get {PATH}. Grant the right with:\n{command}\n'


def _unauthorized(reason: str) -> web.Response:
    text = f"{reason}\nSend the token of a ServiceAccount that may get {PATH}: kubectl create token NAME\n"
    return web.Response(status=401, text=text, headers={"WWW-Authenticate": "Bearer"})
