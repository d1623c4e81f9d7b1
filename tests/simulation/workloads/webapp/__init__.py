"""WebApps: the operator of this project."""

from dataclasses import replace
from pathlib import Path

from coxswain.kernel.workload import Desired, World
from coxswain.webapp.children import deployment
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD as OPERATOR
from coxswain.webapp.workload import WebAppWorkload
from model_cluster.objects import Object
from simulation.judge import Gap
from simulation.scripts import Scripts
from simulation.workloads import ROOT, Workload
from simulation.workloads.webapp import (  # noqa: F401 - the actions register themselves
    actions,
    actions_of_restarts,
    actions_of_routes,
    actions_of_services,
    counts_of_restarts,
    counts_of_routes,
    counts_of_services,
    draws_of_restarts,
)
from simulation.workloads.webapp.counts import Counts
from simulation.workloads.webapp.draws import DRAWS, NAMED, NAMES, PROFILES, often, spec
from simulation.workloads.webapp.explanations import explains, spec_part
from simulation.workloads.webapp.fields import FIELDS, applied, foreign
from simulation.workloads.webapp.judge import CHILDREN, LABEL, gaps, status_gaps, unready
from simulation.workloads.webapp.judge_of_routes import MANAGER, ROUTED
from simulation.workloads.webapp.recipes import FURTHER_RECIPES, RECIPES, SAMPLES
from simulation.workloads.webapp.rules import refuses


def _depends(gap: Gap) -> bool:
    """Return whether a gap depends on autoscalers: without them, the operator does not know the owner of the count."""
    scaled = ("poddisruptionbudgets", "horizontalpodautoscalers")
    return (gap.plural, gap.field) == ("deployments", "replicas") or gap.plural in scaled


def _target(thing: Object) -> str | None:
    """Return the name of the Deployment scaled by an autoscaler."""
    name = ((thing.get("spec") or {}).get("scaleTargetRef") or {}).get("name")
    return None if name is None else str(name)


def _another_value(webapp: WebApp, world: World) -> Desired:
    [wanted] = deployment.TYPE.all_desired(webapp, world)
    wanted.manifest["spec"]["minReadySeconds"] = 1
    return wanted


class _OtherVersion(WebAppWorkload):
    """A version of the operator that desires another Deployment."""

    children = tuple(
        replace(each, desired=_another_value) if each is deployment.TYPE else each for each in WebAppWorkload.children
    )


WORKLOAD = Workload(
    name="webapp",
    operator=OPERATOR,
    crds=(ROOT / "crds" / "webapps.yaml", Path(__file__).parent / "httproutes.yaml"),
    group="coxswain.dev",
    kind="WebApp",
    parent="webapps",
    children=CHILDREN,
    label=LABEL,
    adopt="coxswain.dev/adopt",
    manager=MANAGER,
    scripts=Scripts(
        names=NAMES,
        spec=spec,
        often=often,
        fields=FIELDS,
        applied=applied,
        named=NAMED,
        foreign=foreign,
        draws=DRAWS,
        profiles=PROFILES,
        recipes=RECIPES,
        samples=SAMPLES,
        further_recipes=FURTHER_RECIPES,
        weights_of_metadata=draws_of_restarts.WEIGHTS,
    ),
    gaps=gaps,
    status_gaps=status_gaps,
    explains=explains,
    spec_part=spec_part,
    spec_parts=(
        *("image", "replicas", "ports", "config", "network", "disruption", "autoscaling", "routes", "ingress"),
        *("service", "volumes", "sidecars", "initContainers", "restartOn"),
    ),
    main="deployments",
    other_version=_OtherVersion(),
    unready=unready,
    related=("replicasets", "pods"),
    optional=ROUTED,
    decisive=("horizontalpodautoscalers",),
    depends=_depends,
    target=_target,
    named=("secrets",),
    metadata=("secrets", "configmaps"),
    policies=(refuses,),
    invariants=(Counts, counts_of_routes.RouteCounts, counts_of_services.Services, counts_of_restarts.Restarts),
    happenings=(*counts_of_routes.HAPPENINGS, *counts_of_services.HAPPENINGS, *counts_of_restarts.HAPPENINGS),
)
