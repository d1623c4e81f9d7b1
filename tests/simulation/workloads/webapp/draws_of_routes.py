"""Random parameters for HTTPRoutes, Ingresses, their controllers, and the CustomResourceDefinition of HTTPRoute."""

from typing import Any

from model_cluster.chance import Chance
from model_cluster.routing import Answer
from simulation.scripts import Draw

PUBLIC, INTERNAL = GATEWAYS = ("public", "internal")
"""Gateways, and Ingress classes of the same names."""
PORTS = [{"name": "http", "containerPort": 8080}]
_HOSTS = ["web.example.com"]
_API = {"path": {"type": "PathPrefix", "value": "/api"}}
ROUTES: tuple[Any, ...] = (
    None,
    None,
    [{"parentRefs": [{"name": PUBLIC}], "hostnames": _HOSTS}],
    [{"parentRefs": [{"name": PUBLIC}]}, {"name": "api", "parentRefs": [{"name": INTERNAL}], "rules": [_API, {}]}],
    [{"name": "api", "parentRefs": [{"name": PUBLIC}, {"name": INTERNAL}], "hostnames": [*_HOSTS, "a.example.com"]}],
)
INGRESSES: tuple[Any, ...] = (
    None,
    None,
    {"hosts": [{"host": "web.example.com"}]},
    {"className": PUBLIC, "hosts": [{"host": "web.example.com"}]},
    {"className": PUBLIC, "hosts": [{"host": "web.example.com"}, {"host": "a.example.com"}]},
    {"className": INTERNAL, "hosts": [{"host": "a.example.com"}]},
)


def _answer(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    wrong = [each.value for each in Answer if each is not Answer.ACCEPT]
    answer = Answer.ACCEPT.value if chance.happens(0.4, "accepts") else chance.pick(wrong, "answer")
    return {"gateway": chance.pick(GATEWAYS, "gateway"), "answer": answer}


def _delete_crd(chance: Chance, at: str, name: str) -> dict[str, Any]:  # noqa: ARG001
    return {
        "plural": "httproutes",
        "seconds": round(chance.delay(0.5, 300, "seconds"), 2),
        "pause": round(chance.delay(0.01, 10, "pause"), 2),
        "back": chance.happens(0.85, "back"),
    }


DRAWS: dict[str, Draw] = {"gateway answers": _answer, "delete CRD": _delete_crd}
WEIGHTS = {"gateway answers": 3.0, "delete CRD": 1.0}
