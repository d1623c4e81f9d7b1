"""Read credentials and TLS configuration from a kubeconfig or a pod's ServiceAccount.

Each read returns file contents instead of paths, so that a comparison of two reads detects a rotation.
"""

import base64
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config
from kubernetes.aio.config.incluster_config import SERVICE_TOKEN_FILENAME
from kubernetes.aio.config.kube_config import ConfigNode, KubeConfigLoader

from coxswain.kernel.api.exec_plugin import Credential, ExecPlugin
from coxswain.kernel.api.kubeconfig import context_of, default_files, merged

_NAMESPACE_FILE = Path(SERVICE_TOKEN_FILENAME).with_name("namespace")


@dataclass(frozen=True)
class Tls:
    """TLS configuration: the CA bundle and the client certificate."""

    authority: str | None = None
    """The CA bundle in PEM; None for the system's CAs."""
    certificate: str | None = None
    key: str | None = field(default=None, repr=False)
    verify: bool = True
    server_name: str | None = None
    """The expected name in the server's certificate; None for the host name of the URL."""


@dataclass(frozen=True)
class ClientConfig:
    """URL, credentials, TLS configuration and proxy of the API server."""

    host: str
    authorization: str | None = field(default=None, repr=False)
    """The Authorization header."""
    tls: Tls = Tls()
    proxy: str | None = None
    namespace: str = "default"
    """The namespace of the pod or of the context."""


class Source(Protocol):
    """A source of credentials."""

    async def read(self, *, renew: bool = False) -> ClientConfig:
        """Read the credentials.

        Args:
            renew: whether to bypass caches, because the API server rejected the last credentials.

        Raises:
            Exception: any error of files, plugins and identity providers.
        """


class Fixed:
    """Credentials without rotation."""

    def __init__(self, config: ClientConfig) -> None:
        """Return `config` from each read."""
        self._config = config

    async def read(self, *, renew: bool = False) -> ClientConfig:  # noqa: ARG002 - part of the interface
        """Return the credentials."""
        return self._config


class InCluster:
    """The ServiceAccount of the pod."""

    async def read(self, *, renew: bool = False) -> ClientConfig:  # noqa: ARG002 - part of the interface
        """Read the token and the CA."""
        configuration = Configuration()
        load_incluster_config(client_configuration=configuration, try_refresh_token=False)
        authority = _read(configuration.ssl_ca_cert)
        namespace = _NAMESPACE_FILE.read_text(encoding="utf-8").strip() if _NAMESPACE_FILE.exists() else "default"
        return ClientConfig(configuration.host, _header(configuration), Tls(authority=authority), namespace=namespace)


class Kubeconfig:
    """A kubeconfig: one file, or several files as in KUBECONFIG."""

    def __init__(self, path: Path | None, context: str | None) -> None:
        """Use a kubeconfig file and a context; None for kubectl's default file and the current context."""
        self._files = [path.expanduser()] if path else default_files()
        self._context = context
        self._provided_for: tuple[Any, Any] | None = None
        self._provider: _Provider | None = None

    async def read(self, *, renew: bool = False) -> ClientConfig:
        """Read the kubeconfig, and run its exec plugin if the credential is about to expire.

        Raises:
            NoConnection: a file is not a kubeconfig.
        """
        config = merged(self._files)
        context = context_of(config, self._context)
        cluster = config["clusters"].get_with_name(context["cluster"])["cluster"]
        user_entry = config["users"].get_with_name(context["user"], safe=True) if context.safe_get("user") else None
        user = user_entry["user"] if user_entry and user_entry.safe_get("user") else ConfigNode("user", {}, config.path)
        if self._provider is None or (user.value, cluster.value) != self._provided_for:
            self._provided_for = user.value, cluster.value
            self._provider = _provider(user, cluster)
        authorization, certificate, key = await self._provider.read(renew=renew)
        tls = Tls(
            authority=_text(cluster, "certificate-authority"),
            certificate=certificate or _text(user, "client-certificate"),
            key=key or _text(user, "client-key"),
            verify=not cluster.safe_get("insecure-skip-tls-verify"),
            server_name=cluster.safe_get("tls-server-name"),
        )
        proxy, namespace = cluster.safe_get("proxy-url") or None, context.safe_get("namespace") or "default"
        return ClientConfig(cluster["server"].rstrip("/"), authorization, tls, proxy, namespace)


class _Provider(Protocol):
    async def read(self, *, renew: bool) -> Credential: ...


def _provider(user: ConfigNode, cluster: ConfigNode) -> _Provider:
    if "exec" in user:
        return ExecPlugin(user["exec"], lambda: _cluster_info(cluster))
    return _TokenFile(user) if user.safe_get("tokenFile") else _LibraryCredentials(user)


class _TokenFile:
    """A token file. It has precedence over a token, as in client-go; the library prefers the token."""

    def __init__(self, user: ConfigNode) -> None:
        self._file = Path(user.path).parent / user["tokenFile"]
        self._first: str | None = user.safe_get("token")

    async def read(self, *, renew: bool) -> Credential:  # noqa: ARG002 - it has no cache to bypass
        try:
            token = _read(self._file).strip()
            if not token:
                raise ConfigException(f"the token file {self._file} is empty")
        except (OSError, ConfigException):
            if self._first is None:
                raise
            token = self._first
        else:
            # From now on an error leaves the last token of the file in use.
            self._first = None
        return f"Bearer {token}", None, None


class _LibraryCredentials:
    """Credentials read by the library: a token, an identity provider or a password."""

    def __init__(self, user: ConfigNode) -> None:
        # Leave out the certificates, because the library would write them to temporary files. Copy the entries, because
        # the library stores the tokens of an identity provider in them.
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

    async def read(self, *, renew: bool) -> Credential:  # noqa: ARG002 - it has no cache to bypass
        configuration = Configuration()
        await self._loader.load_and_set(configuration)
        return _header(configuration), None, None


def _cluster_info(cluster: ConfigNode) -> dict[str, Any]:
    """Return `spec.cluster` of an ExecCredential. Its CA is always data, and its config comes from an extension."""
    names = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url", "disable-compression")
    info = {name: value for name in names if (value := cluster.safe_get(name))}
    if authority := _text(cluster, "certificate-authority"):
        info["certificate-authority-data"] = base64.standard_b64encode(authority.encode()).decode()
    for extension in cluster.safe_get("extensions") or ():
        if extension["name"] == "client.authentication.k8s.io/exec":
            info["config"] = extension["extension"]
    return info


def _text(node: ConfigNode, name: str) -> str | None:
    """Return the content of `name-data`, or of the file in the field `name`, relative to the kubeconfig."""
    if data := node.safe_get(f"{name}-data"):
        return base64.standard_b64decode(data).decode()
    if path := node.safe_get(name):
        return _read(Path(node.path).parent / path)
    return None


def _read(path: Any) -> str:
    return Path(path).read_text(encoding="utf-8")


def _header(configuration: Configuration) -> str | None:
    """Return the Authorization header, stripped, since a token file may end in a newline and headers must not."""
    token = configuration.api_key.get("BearerToken")
    return None if token is None else str(token).strip()


def one_line(error: Exception) -> str:
    """Return the message of an error on one line, cut to 500 characters."""
    return (" ".join(str(error).split()) or type(error).__name__)[:500]
