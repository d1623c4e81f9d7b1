"""HTTP clients that ignore all environment variables for proxies and certificates."""

from pathlib import Path
from typing import Any

import requests
import yaml
from pykube import HTTPClient, KubeConfig
from requests.adapters import HTTPAdapter

REQUEST_SECONDS = 60.0
"""The API server's own limit for a request. pykube's default of 10 s is too short for objects of 1 MB on a busy
machine."""


def direct_session(ca_file: Path | None = None, token: str = "") -> requests.Session:
    """Return a session that ignores proxies, .netrc and the machine's CA bundles, and trusts `ca_file`."""
    session = requests.Session()
    session.trust_env = False
    if ca_file is not None:
        session.verify = str(ca_file)
    if token:
        session.headers["Authorization"] = f"Bearer {token}"
    return session


def pykube_client(kubeconfig: Path, ca_file: Path) -> HTTPClient:
    """Return a pykube client for a kubeconfig that trusts only `ca_file`."""
    config = KubeConfig(yaml.safe_load(kubeconfig.read_text(encoding="utf-8")))
    client = HTTPClient(config, timeout=REQUEST_SECONDS)
    client.session.trust_env = False
    for adapter in client.session.adapters.values():
        if hasattr(adapter, "_do_send"):
            _trust_only(adapter, ca_file)
    return client


def _trust_only(adapter: Any, ca_file: Path) -> None:
    """Set the trusted CA in the adapter's last step, after pykube and requests have read their variables."""

    def send(request: requests.PreparedRequest, **options: Any) -> requests.Response:
        return HTTPAdapter.send(adapter, request, **{**options, "verify": str(ca_file)})

    adapter._do_send = send
