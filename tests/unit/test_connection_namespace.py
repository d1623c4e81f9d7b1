"""The default namespace of the Lease: that of the pod, or of the kubeconfig's context."""

import asyncio
from pathlib import Path

import pytest
import yaml

from coxswain.kernel.api import credentials
from coxswain.kernel.api.connection import connection
from coxswain.kernel.api.credentials import InCluster
from unit.tls_server import kubeconfig


@pytest.mark.parametrize(("context", "wanted"), [({}, "default"), ({"namespace": "mine"}, "mine")])
def test_the_namespace_is_that_of_the_context(tmp_path: Path, context: dict[str, str], wanted: str) -> None:
    file = kubeconfig(tmp_path, {"server": "http://127.0.0.1:1"}, {"token": "t"})
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    content["contexts"][0]["context"] |= context
    file.write_text(yaml.safe_dump(content), encoding="utf-8")

    async def body() -> None:
        made = await connection(file, None, token_interval=0.0)
        assert made.namespace == wanted
        await made.authorization()
        assert made.namespace == wanted, "also after the credentials were read again"

    asyncio.run(body())


@pytest.mark.parametrize("wanted", ["operators", "default"])
def test_the_namespace_of_a_pod_is_in_its_volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    monkeypatch.setattr(credentials, "_NAMESPACE_FILE", tmp_path / "namespace")
    monkeypatch.setattr(credentials, "load_incluster_config", lambda **_: None)
    monkeypatch.setattr(credentials, "_read", lambda _: "CA")
    if wanted != "default":
        (tmp_path / "namespace").write_text(f"{wanted}\n")
    assert asyncio.run(InCluster().read()).namespace == wanted
