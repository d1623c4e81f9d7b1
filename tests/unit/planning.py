"""A Deployment with several writers, and its write plans."""

from collections.abc import Callable, Sequence
from typing import Any

from coxswain.kernel.conflicts.policy import Policy
from coxswain.kernel.conflicts.write_plan import Plan
from coxswain.kernel.objects.manifests import Manifest
from rendered import desired, plan_of
from unit.objects import webapp
from unit.ownership import OURS, Model, Owner, leaves

SPEC: dict[str, Any] = {
    "ports": [{"name": "http", "containerPort": 8080}, {"name": "admin", "containerPort": 9090}],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "labels": {"team": "red"},
    "annotations": {"example.com/a": "b"},
    "args": ["serve"],
    "resources": {"limits": {"memory": "64Mi"}},
    "readinessProbe": {"httpGet": {"path": "/", "port": 8080}},
}
DEPLOYMENT: Manifest = desired(webapp(**SPEC))[-1]
KUBECTL: Owner = ("kubectl-edit", "Update")
FLUX: Owner = ("flux", "Apply")

POD = ("f:spec", "f:template", "f:spec")
CONTAINERS = (*POD, "f:containers")
APP = (*CONTAINERS, 'k:{"name":"app"}')
IMAGE, ARGS, REPLICAS = (*APP, "f:image"), (*APP, "f:args"), ("f:spec", "f:replicas")
ENV_A = (*APP, "f:env", 'k:{"name":"A"}')
TEAM = ("f:metadata", "f:labels", "f:team")
IMAGE_TEXT = "spec.template.spec.containers[name=app].image"


def applied(manifest: Manifest = DEPLOYMENT) -> Model:
    """Return a child in its state after our first apply."""
    model = Model(manifest["kind"], manifest["apiVersion"])
    model.apply(OURS, leaves(manifest), force=False)
    return model


def always(policy: Policy) -> Callable[[str], Policy]:
    return lambda _: policy


def planned(
    model: Model, policy: Policy = Policy.ENFORCE, *, contested: Sequence[str] = (), manifest: Manifest = DEPLOYMENT
) -> Plan:
    return plan_of(manifest, model.observed(), always(policy), contested)


def carried_out(model: Model, made: Plan) -> None:
    """Apply the plan; raise on a 409."""
    model.apply(OURS, leaves(made.manifest), force=made.force)


def fields(made: Plan) -> list[str]:
    return [difference.text for difference in made.differences]


def left(made: Plan) -> list[tuple[str, str]]:
    return [(held.difference.text, held.manager) for held in made.left]
