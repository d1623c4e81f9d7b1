"""The metrics API of the throwaway cluster: the usage of pods that share a load."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.metrics_api import pod_metrics

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "shop", "uid": "1"}, "spec": {"containers": [{"name": "app"}]}}


@pytest.mark.parametrize(("count", "share"), [(1, "400m"), (2, "200m"), (3, "133m")])
def test_the_load_is_shared(count: int, share: str) -> None:
    items = pod_metrics([pod(f"web-{number}") for number in range(count)], 400, NOW)["items"]
    assert [item["metadata"]["name"] for item in items] == [f"web-{number}" for number in range(count)]
    assert {item["containers"][0]["usage"]["cpu"] for item in items} == {share}


def test_without_a_load_nothing_was_measured() -> None:
    assert pod_metrics([pod("web")], None, NOW)["items"] == []
    assert pod_metrics([], 400, NOW)["items"] == []
