"""ScheduledTasks: the example operator."""

from example.scheduled_task import WORKLOAD as OPERATOR
from model_cluster.objects import Object
from simulation import recipes, recipes_of_faults
from simulation.explanations import Explanations
from simulation.judge import Gap
from simulation.scripts import Samples, Scripts
from simulation.workloads import ROOT, Workload
from simulation.workloads.scheduled_task import actions  # noqa: F401 - they register themselves
from simulation.workloads.scheduled_task.draws import DRAWS, NAMES, PROFILES, often, spec
from simulation.workloads.scheduled_task.fields import FIELDS, applied, foreign
from simulation.workloads.scheduled_task.judge import CHILDREN, LABEL, MANAGER, PARENT, gaps, status_gaps

SAMPLES = Samples(
    smallest={"size": 3, "image": "app:1"},
    drifts=(("cronjobs", "schedule", "0 0 1 1 *"), ("configmaps", "config", "theirs")),
    side=("configmaps", "config", "theirs"),
    labels=("task label", "config label"),
    wars=(("image", "other:1", {"image": "app:3"}), ("schedule", "0 0 1 1 *", {"schedule": "7 * * * *"})),
    every_child={"image": "app:2", "config": {"MODE": "b"}},
    removal=("configmaps", {"config": None}),
    deleted=("configmaps", "cronjobs"),
    all_drifts=(("schedule", "0 0 1 1 *"), ("concurrency", "Allow"), ("config", "theirs")),
    held_label=(LABEL, "held"),
)


def explains(found: Explanations, task: Object, gap: Gap) -> bool:
    """Return whether a CronJob waits for its ConfigMap, which is missing for an accepted reason."""
    if gap.plural != "cronjobs":
        return False
    others = [each for each in found.gaps(task) if each.plural == "configmaps"]
    return any(found.explained(task, each) for each in others if each.field in ("existence", "owner"))


def _spec_part(_task: Object, gap: Gap) -> str:
    """Return the part of the spec for a gap."""
    word = gap.field.split()[0]
    return "config" if word == "environment" else word


WORKLOAD = Workload(
    name="scheduled-task",
    operator=OPERATOR,
    crds=(ROOT / "operator" / "example" / "crd.yaml",),
    group="example.coxswain.dev",
    kind="ScheduledTask",
    parent=PARENT,
    children=CHILDREN,
    label=LABEL,
    adopt="example.coxswain.dev/adopt",
    manager=MANAGER,
    scripts=Scripts(
        names=NAMES,
        spec=spec,
        often=often,
        fields=FIELDS,
        applied=applied,
        named=CHILDREN,
        foreign=foreign,
        draws=DRAWS,
        profiles=PROFILES,
        recipes={found.__name__: found for found in (*recipes.RECIPES, *recipes_of_faults.RECIPES)},
        samples=SAMPLES,
    ),
    gaps=gaps,
    status_gaps=status_gaps,
    explains=explains,
    spec_part=_spec_part,
    spec_parts=("schedule", "image", "args", "config"),
    main="cronjobs",
)
