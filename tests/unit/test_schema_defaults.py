"""The defaults of the CRD are part of each spec, and so of the hash in the name of its revision."""

from collections.abc import Iterator
from typing import Any

from yaml_files import webapp_schema

DEFAULTS = {
    "replicas": 1,
    "paused": False,
    "conflicts.policy": "Enforce",
    "ingress.hosts[].paths[].pathType": "Prefix",
    "network.egress[].ports[].protocol": "TCP",
    "network.ingress[].ports[].protocol": "TCP",
    "ports[].protocol": "TCP",
    "rollout.strategy": "RollingUpdate",
    "routes[].rules[].headers[].type": "Exact",
    "routes[].rules[].path.type": "PathPrefix",
    "service.ports[].protocol": "TCP",
    "serviceAccount.automountServiceAccountToken": False,
    "serviceAccount.create": True,
    "sidecars[].ports[].protocol": "TCP",
}


def defaults(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the default of each field with one."""
    if "default" in schema:
        yield path, schema["default"]
    for name, inner in schema.get("properties", {}).items():
        yield from defaults(inner, f"{path}.{name}".removeprefix("."))
    for part, brackets in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(part), dict):
            yield from defaults(schema[part], path + brackets)


def test_no_default_is_new() -> None:
    """The API server adds a new default to each stored spec at the upgrade of the CRD.

    The operator would see a new spec in each WebApp: pods would restart for newer render versions, and each rollback
    would end, with a second rollout of the failed image. The renderer may have new defaults (decision 0042); so may an
    object that no stored spec has.
    """
    assert dict(defaults(webapp_schema()["spec"])) == DEFAULTS
