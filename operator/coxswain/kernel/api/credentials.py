"""Credentials and trust, read from a kubeconfig or from a pod's ServiceAccount, and read again.

Each read returns contents, never paths: a comparison of two reads tells that a file was rotated.
"""

import base64
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import yaml
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config
from kubernetes.aio.config.dateutil import parse_rfc3339
from kubernetes.aio.config.exec_provider import ExecProvider
from kubernetes.aio.config.kube_config import (
    ENV_KUBECONFIG_PATH_SEPARATOR,
    KUBE_CONFIG_DEFAULT_LOCATION,
    ConfigNode,
    KubeConfigLoader,
    KubeConfigMerger,
)

_SKEW = timedelta(minutes=5)
"""A plugin runs again so long before its credential expires, as the library has it."""


_Credential = tuple[str | None, str | None, str | None]
"""Authorization header, client certificate and key."""


class NoConnection(Exception):
    """Neither a pod's ServiceAccount nor a usable kubeconfig was found."""


@dataclass(frozen=True)
class Tls:
    """Trust, and the client certificate: what a TLS connection is made with."""

    authority: str | None = None
    """The CA bundle in PEM; None means the machine's."""
    certificate: str | None = None
    key: str | None = field(default=None, repr=False)
    verify: bool = True
    server_name: str | None = None
    """The name that the server's certificate must have, where it is not the host's."""


@dataclass(frozen=True)
class Access:
    """How the API server is reached."""

    host: str
    authorization: str | None = field(default=None, repr=False)
    """The Authorization header."""
    tls: Tls = Tls()
    proxy: str | None = None


class Source(Protocol):
    """Where the credentials are."""

    async def read(self, *, renew: bool = False) -> Access:
        """Read them; with `renew`, not from a cache: the API server did not accept them.

        Raises:
            Exception: whatever is wrong with files, plugins and identity providers.
        """


class Fixed:
    """Credentials that never change."""

    def __init__(self, access: Access) -> None:
        """Return `access` at each read."""
        self._access = access

    async def read(self, *, renew: bool = False) -> Access:  # noqa: ARG002
        """Return it."""
        return self._access


class InCluster:
    """A pod's ServiceAccount."""

    async def read(self, *, renew: bool = False) -> Access:  # noqa: ARG002
        """Read token and CA."""
        configuration = Configuration()
        load_incluster_config(client_configuration=configuration, try_refresh_token=False)
        authority = _read(configuration.ssl_ca_cert)
        return Access(configuration.host, _header(configuration), Tls(authority=authority))


class Kubeconfig:
    """A kubeconfig: one file, or several as in KUBECONFIG."""

    def __init__(self, path: Path | None, context: str | None) -> None:
        """Read this file, or kubectl's default; use this context, or the current one."""
        self._paths = str(path) if path else KUBE_CONFIG_DEFAULT_LOCATION
        self._context = context
        self._user: dict[str, Any] | None = None
        self._login: _Plugin | _Login | None = None

    async def read(self, *, renew: bool = False) -> Access:
        """Read all of it anew, and run its plugin if it is time.

        Raises:
            NoConnection: a file is not a kubeconfig.
        """
        config = merged(self._paths)
        context = _context(config, self._context, self._paths)
        cluster = config["clusters"].get_with_name(context["cluster"])["cluster"]
        named = config["users"].get_with_name(context["user"], safe=True) if context.safe_get("user") else None
        user = named["user"] if named and named.safe_get("user") else ConfigNode("user", {}, config.path)
        if self._login is None or user.value != self._user:
            self._user = user.value
            self._login = _Plugin(user["exec"]) if "exec" in user else _Login(user)
        authorization, certificate, key = await self._login.read(renew=renew)
        tls = Tls(
            authority=_text(cluster, "certificate-authority"),
            certificate=certificate or _text(user, "client-certificate"),
            key=key or _text(user, "client-key"),
            verify=not cluster.safe_get("insecure-skip-tls-verify"),
            server_name=cluster.safe_get("tls-server-name"),
        )
        return Access(cluster["server"].rstrip("/"), authorization, tls, cluster.safe_get("proxy-url"))


class _Login:
    """A token, a token's file, an identity provider, or a password: all that the library reads itself."""

    def __init__(self, user: ConfigNode) -> None:
        # Without the certificates, which the library would write to temporary files; and a copy, since it keeps what an
        # identity provider returns in what it was given.
        entries = {name: deepcopy(value) for name, value in user.value.items() if not name.startswith("client-")}
        self._loader = KubeConfigLoader(
            config_dict={
                "current-context": "only",
                "contexts": [{"name": "only", "context": {"cluster": "only", "user": "only"}}],
                "clusters": [{"name": "only", "cluster": {}}],
                "users": [{"name": "only", "user": entries}],
            },
            config_base_path=str(Path(user.path).parent) if user.path else "",
        )

    async def read(self, *, renew: bool) -> _Credential:  # noqa: ARG002 - it has no cache that this could pass over
        configuration = Configuration()
        await self._loader.load_and_set(configuration)
        return _header(configuration), None, None


class _Plugin:
    """A credentials plugin; the library's way to run it forgets when certificates expire, and hides failures."""

    def __init__(self, command: ConfigNode) -> None:
        self._command = command
        self._good_until: datetime | None = None
        self._credential: _Credential = (None, None, None)

    async def read(self, *, renew: bool) -> _Credential:
        if renew or self._good_until is None or datetime.now(UTC) >= self._good_until:
            status = await ExecProvider(self._command).run()
            token = status.get("token")
            pair = status.get("clientCertificateData"), status.get("clientKeyData")
            if not token and not all(pair):
                raise ConfigException("exec: the plugin returned neither a token nor a client certificate with its key")
            self._credential = f"Bearer {token.strip()}" if token else None, *pair
            self._good_until = _expiry(status.get("expirationTimestamp"))
        return self._credential


def _expiry(timestamp: str | None) -> datetime | None:
    return parse_rfc3339(timestamp) - _SKEW if timestamp else None


def merged(paths: str) -> ConfigNode:
    """Return the kubeconfig that these files make.

    Raises:
        NoConnection: a file is missing, not readable, not YAML, or not a kubeconfig.
    """
    files = [Path(path).expanduser() for path in paths.split(ENV_KUBECONFIG_PATH_SEPARATOR) if path]
    found = [file for file in files if file.exists()]
    if not found:
        raise NoConnection(f"the kubeconfig {paths} does not exist; set --kubeconfig or KUBECONFIG")
    for file in found:
        trouble = _trouble(file)
        if trouble:
            raise NoConnection(
                f"the kubeconfig {file} {trouble}; "
                f"set --kubeconfig or KUBECONFIG to a file that `kubectl config view` can read"
            )
    config: ConfigNode = KubeConfigMerger(ENV_KUBECONFIG_PATH_SEPARATOR.join(map(str, found))).config
    return config


def _trouble(file: Path) -> str | None:
    """Return what keeps a file from being a kubeconfig."""
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except IsADirectoryError:
        return "is a directory"
    except (OSError, UnicodeDecodeError) as error:
        return f"cannot be read: {error}"
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        return f"is not YAML: {getattr(error, 'problem', None) or 'it has a character that YAML forbids'}{where}"
    return "is empty" if content is None else _misshapen(content)


def _misshapen(content: object) -> str | None:
    if not isinstance(content, dict):
        return "is not a mapping"
    for section in ("clusters", "contexts", "users"):
        entries = content.get(section) or []
        if not isinstance(entries, list) or not all(isinstance(entry, dict) and "name" in entry for entry in entries):
            return f"has {section} that are not a list of named entries"
    return None


def _context(config: ConfigNode, name: str | None, paths: str) -> ConfigNode:
    names = [context.value["name"] for context in config.value["contexts"]]
    wanted = name or config.safe_get("current-context")
    if not wanted:
        raise NoConnection(f"the kubeconfig {paths} has no current context; set --context{_choice(names)}")
    if wanted not in names:
        raise NoConnection(f"the kubeconfig {paths} has no context {wanted!r}; set --context{_choice(names)}")
    context: ConfigNode = config["contexts"].get_with_name(wanted)["context"]
    return context


def _choice(names: Sequence[str]) -> str:
    return f" to one of {', '.join(names)}" if names else ", after one was added with `kubectl config set-context`"


def _text(node: ConfigNode, name: str) -> str | None:
    """Return the content of `name-data`, or of the file that `name` says, relative to the kubeconfig."""
    if data := node.safe_get(f"{name}-data"):
        return base64.standard_b64decode(data).decode()
    if path := node.safe_get(name):
        return _read(Path(node.path).parent / path)
    return None


def _read(path: Any) -> str:
    return Path(path).read_text(encoding="utf-8")


def _header(configuration: Configuration) -> str | None:
    """Return the Authorization header, without the end of line that a token's file may have: no header may have it."""
    token = configuration.api_key.get("BearerToken")
    return None if token is None else str(token).strip()


def one_line(error: Exception) -> str:
    """Return what an error says, on one line and not at length."""
    return (" ".join(str(error).split()) or type(error).__name__)[:500]
