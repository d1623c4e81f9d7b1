"""How the API server is reached: address, trust and credentials, the same for our client and for Kopf's."""

import ssl
from pathlib import Path

from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config


class NoConnection(Exception):
    """Neither a pod's ServiceAccount nor a usable kubeconfig was found."""


async def connection(kubeconfig: Path | None, context: str | None) -> Configuration:
    """Return a configuration of its own for one client; its token is read again while it is used.

    Raises:
        NoConnection: with what was tried.
    """
    configuration = Configuration()
    # Whom we trust and through what we go is said by the kubeconfig, not by variables of the machine.
    configuration.client_session_kwargs = {"trust_env": False}
    try:
        if kubeconfig is None and context is None:
            try:
                load_incluster_config(client_configuration=configuration)
            except ConfigException:
                await load_kube_config(client_configuration=configuration)
        else:
            path = str(kubeconfig) if kubeconfig else None
            await load_kube_config(config_file=path, context=context, client_configuration=configuration)
    except (ConfigException, OSError) as error:
        where = f"the kubeconfig {kubeconfig}" if kubeconfig else "a pod's ServiceAccount or kubectl's kubeconfig"
        raise NoConnection(f"no way to the API server by {where}: {error}; set --kubeconfig or KUBECONFIG") from error
    return configuration


async def authorization(configuration: Configuration) -> str | None:
    """Return the present value of the Authorization header, read anew where it has expired."""
    value = await configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
    return None if value is None else str(value)


def tls(configuration: Configuration) -> ssl.SSLContext:
    """Return the context of TLS connections: the cluster's CA alone is trusted where one is given."""
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
