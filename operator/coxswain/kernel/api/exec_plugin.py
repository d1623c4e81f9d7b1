"""Credentials from an exec plugin of a kubeconfig.

The library's own support is not used: it ignores the expiry of certificates, hides failures, leaves the process of a
plugin that hangs, and hangs with one that writes much to its standard error.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kubernetes.aio.config import ConfigException
from kubernetes.aio.config.dateutil import parse_rfc3339
from kubernetes.aio.config.exec_provider import ExecProvider
from kubernetes.aio.config.kube_config import ConfigNode

Credential = tuple[str | None, str | None, str | None]
"""The Authorization header, the client certificate and its key."""

_SKEW = timedelta(minutes=5)
"""The plugin runs again this long before its credential expires; the same value as in the library."""
_KILL_SECONDS = 1.0
"""A process that the plugin has started may keep its output open. The end of the plugin is not waited for longer."""


class ExecPlugin:
    """Runs a plugin, and keeps its credential until that expires."""

    def __init__(self, command: ConfigNode, cluster: Callable[[], Mapping[str, Any]]) -> None:
        """Use the `exec` entry of a user in the kubeconfig; `cluster` returns `spec.cluster` of an ExecCredential."""
        self._command = command
        self._cluster = cluster
        self._refresh_at: datetime | None = None
        self._credential: Credential = (None, None, None)

    async def read(self, *, renew: bool) -> Credential:
        """Return the credential, from a new run if it is about to expire or if `renew`.

        Raises:
            ConfigException: the plugin failed, or returned no credential.
            OSError: the plugin cannot be started.
        """
        if renew or self._refresh_at is None or datetime.now(UTC) >= self._refresh_at:
            status = await _run(self._provider(), self._spec())
            token = status.get("token")
            pair = status.get("clientCertificateData"), status.get("clientKeyData")
            if not token and not all(pair):
                raise ConfigException("exec: the plugin returned neither a token nor a client certificate with its key")
            self._credential = f"Bearer {token.strip()}" if token else None, *pair
            self._refresh_at = _expiry(status.get("expirationTimestamp"))
        return self._credential

    def _provider(self) -> ExecProvider:
        provider = ExecProvider(self._command)
        program, path = provider.args[0], self._command.path
        if os.sep in program and path is not None:
            # As in client-go. PATH is searched for a name without a slash.
            provider.args[0] = str(Path(path).absolute().parent / program)
        return provider

    def _spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = {"interactive": sys.stdout.isatty()}
        return {**spec, "cluster": self._cluster()} if self._command.safe_get("provideClusterInfo") else spec


def _expiry(timestamp: str | None) -> datetime | None:
    return parse_rfc3339(timestamp) - _SKEW if timestamp else None


async def _run(provider: ExecProvider, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Run the plugin of a provider with an ExecCredential of `spec`, and return the status of the returned one.

    Raises:
        ConfigException: the plugin failed, or its output is no ExecCredential.
    """
    info = {"apiVersion": provider.api_version, "kind": "ExecCredential", "spec": spec}
    code, output, errors = await _output(provider.args, {**provider.env, "KUBERNETES_EXEC_INFO": json.dumps(info)})
    if code != 0:
        raise ConfigException(f"exec: process returned {code}. {errors.decode(errors='replace').strip()}")
    try:
        answer = json.loads(output)
    except ValueError as error:
        raise ConfigException(f"exec: failed to decode process output: {error}") from error
    status = answer.get("status") if isinstance(answer, dict) else None
    if not isinstance(status, dict):
        raise ConfigException("exec: malformed response. The plugin returned no ExecCredential with a status")
    if answer.get("apiVersion") != provider.api_version:
        version = answer.get("apiVersion")
        raise ConfigException(f"exec: plugin api version {version} does not match {provider.api_version}")
    return status


async def _output(command: list[str], environment: dict[str, str]) -> tuple[int | None, bytes, bytes]:
    """Run a command, and return its exit code, standard output and standard error.

    If this is cancelled, kill the command and the processes that it has started.
    """
    pipe = asyncio.subprocess.PIPE
    # A plugin is often a shell script. The processes of its session are killed together.
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=pipe, stderr=pipe, start_new_session=True
    )
    try:
        output, errors = await process.communicate()
    except asyncio.CancelledError:
        await _kill(process)
        raise
    return process.returncode, output, errors


async def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_KILL_SECONDS):
            await process.wait()
    # A process of another session may keep the pipes open. asyncio has no public way to close them.
    process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001
