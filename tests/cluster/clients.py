"""HTTP clients whom no environment variable tells whom to trust or which way to go."""

from pathlib import Path
from typing import Any

import requests
import yaml
from pykube import HTTPClient, KubeConfig
from requests.adapters import HTTPAdapter


def direct_session(ca_file: Path | None = None, token: str = "") -> requests.Session:
    """A session without proxies, .netrc and the machine's bundles, which trusts `ca_file`."""
    session = requests.Session()
    session.trust_env = False
    if ca_file is not None:
        session.verify = str(ca_file)
    if token:
        session.headers["Authorization"] = f"Bearer {token}"
    return session


def pykube_client(kubeconfig: Path, ca_file: Path) -> HTTPClient:
    """A client of pykube for a kubeconfig, trusting exactly `ca_file`."""
    client = HTTPClient(KubeConfig(yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))))
    client.session.trust_env = False
    for adapter in client.session.adapters.values():
        if hasattr(adapter, "_do_send"):
            _trust_only(adapter, ca_file)
    return client


def _trust_only(adapter: Any, ca_file: Path) -> None:
    """Have the adapter's last step decide the trust, after every place where pykube or requests reads a variable."""

    def send(request: requests.PreparedRequest, **options: Any) -> requests.Response:
        return HTTPAdapter.send(adapter, request, **{**options, "verify": str(ca_file)})

    adapter._do_send = send
