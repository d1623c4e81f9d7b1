"""How the API server is reached: address, trust and credentials, the same for our client and for Kopf's."""

import logging
import ssl
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config

log = logging.getLogger(__name__)


class NoConnection(Exception):
    """Neither a pod's ServiceAccount nor a usable kubeconfig was found."""


async def connection(kubeconfig: Path | None, context: str | None, *, token_interval: float) -> Configuration:
    """Return a configuration of its own for one client; its token is read again every `token_interval` seconds.

    Raises:
        NoConnection: with what was tried.
    """
    configuration = Configuration()
    # Whom we trust and through what we go is said by the kubeconfig, not by variables of the machine.
    configuration.client_session_kwargs = {"trust_env": False}
    try:
        load = await _loaded(configuration, kubeconfig, context)
    except (ConfigException, OSError) as error:
        where = f"the kubeconfig {kubeconfig}" if kubeconfig else "a pod's ServiceAccount or kubectl's kubeconfig"
        raise NoConnection(f"no way to the API server by {where}: {error}; set --kubeconfig or KUBECONFIG") from error
    hook: Any = _Refresh(load, token_interval)
    configuration.refresh_api_key_hook = hook
    _stripped(configuration)
    return configuration


async def authorization(configuration: Configuration) -> str | None:
    """Return the present value of the Authorization header, read anew when it is time."""
    value = await configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
    return None if value is None else str(value)


def doubt(configuration: Configuration) -> None:
    """Have the token read again before the next request: it was not accepted."""
    refresh = configuration.refresh_api_key_hook
    if isinstance(refresh, _Refresh):
        refresh.due = 0.0


def tls(configuration: Configuration) -> ssl.SSLContext:
    """Return the context of TLS connections: the cluster's CA alone is trusted where one is given."""
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


async def _loaded(
    configuration: Configuration, kubeconfig: Path | None, context: str | None
) -> Callable[[], Awaitable[None]]:
    """Fill a configuration; return what reads its credentials again."""

    async def in_cluster() -> None:
        load_incluster_config(client_configuration=configuration, try_refresh_token=False)

    if kubeconfig is None and context is None:
        try:
            await in_cluster()
        except ConfigException:
            pass
        else:
            return in_cluster
    path = str(kubeconfig) if kubeconfig else None
    loader = await load_kube_config(
        config_file=path, context=context, client_configuration=configuration, persist_config=False
    )

    async def from_kubeconfig() -> None:
        # Reads a tokenFile again, which the library never does by itself, and runs a plugin whose token has expired.
        await loader.load_and_set(configuration)

    return from_kubeconfig


class _Refresh:
    """Reads the credentials again when it is time; until they can be read the old ones stay."""

    def __init__(self, load: Callable[[], Awaitable[None]], interval: float) -> None:
        self._load = load
        self._interval = interval
        self.due = time.monotonic() + interval

    async def __call__(self, configuration: Configuration) -> None:
        if time.monotonic() < self.due:
            return
        self.due = time.monotonic() + self._interval
        before = configuration.api_key.get("BearerToken")
        try:
            await self._load()
        except (ConfigException, OSError) as error:
            log.warning("the token can't be read again: %s", error)
        _stripped(configuration)
        if configuration.api_key.get("BearerToken") != before:
            log.info("the token was rotated")


def _stripped(configuration: Configuration) -> None:
    """Remove the end of the line that a token's file may have: no header may contain it."""
    token = configuration.api_key.get("BearerToken")
    if token is not None:
        configuration.api_key["BearerToken"] = token.strip()
