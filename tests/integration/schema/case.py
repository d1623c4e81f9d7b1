"""The types of the schema cases."""

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

PORTS = [{"name": "http", "containerPort": 8080}]
SPREAD = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
LARGEST_CONTENT = 900_000


def webapp(name: str = "shop", **spec: Any) -> Json:
    return {
        "apiVersion": "coxswain.dev/v1",
        "kind": "WebApp",
        "metadata": {"name": name},
        "spec": {"image": "registry.example.com/shop:1", **spec},
    }


@dataclass(frozen=True)
class Refused:
    """The applied object, the field that the message must name, and the expected text."""

    field: str
    says: str
    manifest: Json

    def __str__(self) -> str:
        return f"{self.field} {self.says[:40]}"


def refused(field: str, says: str, **spec: Any) -> Refused:
    return Refused(f"spec.{field}", says, webapp(**spec))


def probed(says: str, probe: Json, *, kind: str = "readinessProbe", at: str = "", **spec: Any) -> Refused:
    return refused(f"{kind}{at}", says, **{kind: probe}, **spec)


def from_field(path: str) -> list[Json]:
    return [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}]


def from_resource(resource: str, divisor: int | str) -> list[Json]:
    return [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": resource, "divisor": divisor}}}]


def spread(**changes: Any) -> list[Json]:
    return [{**SPREAD, **changes}]


def files(*paths: str) -> list[Json]:
    return [{"path": path, "content": ""} for path in paths]
