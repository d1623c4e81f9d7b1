"""Foreign objects with the operator's label: large ones, many small ones, and odd ones."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from integration.test_hostile_objects import config_map

LARGE, SMALL, ODD = 200, 2000, 20
"""The numbers of ConfigMaps of 1 MB, of small ones, and of objects of each other kind."""
_LABELS = {"coxswain.dev/webapp": "web", "app.kubernetes.io/managed-by": "coxswain"}
_CLIENTS = 4


def hostile_objects() -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Yield apiVersion, plural and objects of each kind."""
    yield "v1", "configmaps", [config_map(number) for number in range(LARGE)]
    yield "v1", "configmaps", [_thing("v1", "ConfigMap", number, data={"A": "a"}) for number in range(SMALL)]
    noted = {f"other.example/{number}": "\u202e\U0001f6a2" * 20 for number in range(200)}
    yield "v1", "serviceaccounts", [_thing("v1", "ServiceAccount", number, noted) for number in range(ODD)]
    port = {"ports": [{"port": 80}]}
    yield "v1", "services", [_thing("v1", "Service", number, noted, spec=port) for number in range(ODD)]
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "x", "image": "x", "args": ["y" * 100_000]}]},
        },
    }
    yield "apps/v1", "deployments", [_thing("apps/v1", "Deployment", number, noted, spec=spec) for number in range(ODD)]


def _thing(version: str, kind: str, number: int, annotations: dict[str, str] | None = None, **rest: Any) -> Any:
    metadata = {"name": f"hostile-{number}", "labels": _LABELS, "annotations": annotations or {}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def create_all(
    client: Callable[[], Any], namespace: str, version: str, plural: str, things: Sequence[dict[str, Any]]
) -> None:
    """Create objects in a namespace."""

    def create(part: Sequence[dict[str, Any]]) -> None:
        api = client()
        for thing in part:
            body = json.dumps(thing)
            answer = api.post(version=version, namespace=namespace, url=plural, data=body)
            answer.raise_for_status()

    with ThreadPoolExecutor(_CLIENTS) as pool:
        list(pool.map(create, [things[place::_CLIENTS] for place in range(_CLIENTS)]))
