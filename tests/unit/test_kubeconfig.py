"""Which cluster, user and files a kubeconfig means: the same as for kubectl."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from coxswain.kernel.api.connection import Connection, connection


def written(path: Path, current: str | None, *names: str, user: str = "t") -> Path:
    """Write a kubeconfig with a cluster, user and context of each name."""
    content: dict[str, Any] = {
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.example"}} for name in names],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names],
        "users": [{"name": name, "user": {"token": user}} for name in names],
    }
    path.write_text(yaml.safe_dump(content if current is None else {**content, "current-context": current}))
    return path


def opened(path: Path | None = None) -> Connection:
    return asyncio.run(_opened(path))


async def _opened(path: Path | None) -> Connection:
    return await connection(path, None, token_interval=60)


@pytest.mark.parametrize(
    ("currents", "server"),
    [(("a", "b"), "a"), ((None, "b"), "b"), (("", "b"), "b"), (("a", ""), "a"), (("a", None), "a"), (("b", "a"), "b")],
)
def test_the_first_current_context_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, currents: tuple[str | None, str | None], server: str
) -> None:
    """The last one counted, so the operator wrote to another cluster than kubectl."""
    files = [written(tmp_path / name, current, name) for name, current in zip("ab", currents, strict=True)]
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/missing:{files[0]}::{files[1]}")
    assert opened().host == f"https://{server}.example"


def test_the_first_file_with_a_name_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [written(tmp_path / "one", None, "a", user="one"), written(tmp_path / "two", "a", "a", user="two")]
    monkeypatch.setenv("KUBECONFIG", f"{files[0]}:{files[1]}")

    async def authorization() -> str | None:
        return await (await connection(None, None, token_interval=60)).authorization()

    assert asyncio.run(authorization()) == "Bearer one"


def test_an_empty_kubeconfig_variable_means_the_default_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".kube").mkdir()
    written(tmp_path / ".kube" / "config", "a", "a")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", "")
    assert opened().host == "https://a.example"


def test_the_flag_is_one_file_whatever_its_name(tmp_path: Path) -> None:
    assert opened(written(tmp_path / "at-10:30.yaml", "a", "a")).host == "https://a.example"
