"""The consequences of a changed spec: rendered by the operator's code, tried by dry-run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from coxswain.webapp.children.service_kept import EXTERNAL_NAME
from coxswain.webapp.children.service_manifest import service_ports
from coxswain.webapp.identity import MANAGED_BY, RENDER_ANNOTATION
from coxswain.webapp.kinds import CONFIG_MAP, CONTROLLER_REVISION, DEPLOYMENT, SERVICE, WEBAPP
from coxswain.webapp.releases.render import is_known, usable
from coxswain.webapp.releases.revisions import recorded
from coxswain.webapp.releases.rollback import rollback_target
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from kubectl_coxswain.child_plan import ChildPlan, child_plans, concerned, others, running, template_of
from kubectl_coxswain.dependents import held_back_plans
from kubectl_coxswain.fields import LIMIT, child_change, leaves, spec_changes
from kubectl_coxswain.kubectl import Json, Kubectl
from kubectl_coxswain.parallel import each_in_parallel
from kubectl_coxswain.problems import Conflict, Denied, Forbidden, Invalid, NotFound, Problem
from kubectl_coxswain.reports import ChildChange, FieldChange, PlanReport, Restart
from kubectl_coxswain.snapshot import Snapshot, snapshot
from kubectl_coxswain.verdict import PAUSED, deletion, is_deleted, unreported

_TRIED = ("Create", "Change", "Adopt")
_REASONS = 5


@dataclass(frozen=True)
class Trial:
    """The answer of the API server to a dry-run; without one, the operator's own comparison counts."""

    stored: Json | None = None
    refusal: Problem | None = None
    """Why the API server would refuse the write."""
    note: str = ""
    """Why there was no dry-run."""


def plan_of(
    kubectl: Kubectl, proposed: Json, live: Json | None, now: datetime, notes: Sequence[str] = ()
) -> PlanReport:
    """Return the plan of a WebApp.

    Args:
        kubectl: the cluster.
        proposed: the WebApp as the API server would store it.
        live: the present WebApp; None for a new one.
        now: the present time.
        notes: notes about the proposed WebApp.

    Raises:
        Problem: the cluster cannot be asked, or the operator is newer than the plugin.
    """
    metadata = proposed["metadata"]
    world = snapshot(kubectl, proposed, now)
    before = None if live is None else as_operated(live, world)
    webapp = running(parsed(proposed), world)
    plans = child_plans(webapp, world)
    deleted = live is not None and is_deleted(live)
    trials = [Trial()] * len(plans)
    if not (webapp.paused or deleted):
        trials = trials_of(kubectl, plans, world)
        refused = [plan.object for plan, trial in zip(plans, trials, strict=True) if trial.refusal is not None]
        plans = held_back_plans(plans, refused, webapp, world)
    changes = [
        ChildChange(plan.object, "None") if deleted else _change(plan, trial, paused=webapp.paused)
        for plan, trial in zip(plans, trials, strict=True)
    ]
    fields = [] if live is None else spec_changes(live.get("spec", {}), proposed["spec"])
    return PlanReport(
        metadata["namespace"],
        metadata["name"],
        "Create" if live is None else "Change" if fields else "None",
        Restart(False, "the WebApp is being deleted") if deleted else restart_of(webapp, plans, trials, world),
        fields,
        changes,
        [
            *notes,
            *([] if live is None else [*deletion(live), *unreported(live)]),
            *_new_defaults(webapp, before),
            *_renamed_ports(webapp, plans),
            *world.notes(concerned(proposed, plans)),
            *dict.fromkeys(trial.note for trial in trials if trial.note),
        ],
    )


def _new_defaults(webapp: WebApp, before: WebApp | None) -> list[str]:
    """Return a note if another version than now renders the WebApp (docs/upgrade.md)."""
    if before is None or before.render == webapp.render:
        return []
    versions = f"render version {webapp.render} instead of {before.render}"
    return [f"the defaults of the pods of {webapp.name} change: {versions}"]


def _renamed_ports(webapp: WebApp, plans: Sequence[ChildPlan]) -> list[str]:
    """Return a note if the Service leads to numbers while a rollout renames ports (webapp/children/service_targets)."""
    found = next((plan.manifest for plan in plans if plan.child_type.kind == SERVICE and plan.manifest), None)
    used = [] if found is None else [port.get("targetPort") for port in found["spec"].get("ports", [])]
    names = [port["targetPort"] for port in service_ports(webapp) if isinstance(port["targetPort"], str)]
    renamed = [name for name in names if name not in used]
    if found is None or not renamed or found["spec"].get("type") == EXTERNAL_NAME:
        return []
    ports = f"the numbers of {', '.join(renamed)}, and to the names afterwards"
    return [f"during the rollout of {webapp.name} the Service leads to {ports}"]


def as_operated(live: Json, world: Snapshot) -> WebApp:
    """Return the stored WebApp as the operator runs it.

    Raises:
        Problem: the user may not read its revisions, or a newer operator renders it: the children that the operator
            wants are not known.
    """
    webapp = parsed(live)
    forbidden = world.unreadable.get(CONTROLLER_REVISION)
    if forbidden is not None:
        raise Forbidden(
            f"the children of WebApp {webapp.name} cannot be compared, because its revisions, which decide how the "
            f"operator renders them, cannot be read: {forbidden.message}",
            forbidden.next_step,
        )
    found = recorded(webapp, world)
    used = (*found[:1], rollback_target(webapp, found))
    versions = [each.note(RENDER_ANNOTATION) for each in used if each is not None]
    unknown = next((version for version in versions if not is_known(usable(version))), None)
    if unknown is None:
        return running(webapp, world)
    raise Problem(
        f"the operator is newer than this plugin: it renders WebApp {webapp.name} by version {unknown}, "
        "which the plugin does not know, so its children cannot be compared",
        "install the plugin of the operator's version: kubectl coxswain version",
    )


def parsed(manifest: Json) -> WebApp:
    """Return a WebApp as the operator reads it."""
    # A WebApp that is only tried has no resourceVersion.
    metadata = {"resourceVersion": "0", **manifest["metadata"]}
    whole = {"apiVersion": WEBAPP.api_version, "kind": WEBAPP.kind, **manifest, "metadata": metadata}
    return WORKLOAD.parse(WORKLOAD.projector.observe(WEBAPP, whole))


def trials_of(kubectl: Kubectl, plans: Sequence[ChildPlan], world: Snapshot) -> list[Trial]:
    """Ask the API server for each write. Raises Problem if it cannot be asked."""

    def tried(found: ChildPlan) -> Trial:
        if found.action not in _TRIED or found.manifest is None or not found.prepared:
            return Trial()
        try:
            options = ("--validate=false", "--server-side", f"--field-manager={MANAGED_BY}", "--force-conflicts")
            return Trial(stored=kubectl.apply(found.manifest, *options))
        except Forbidden as error:
            return Trial(note=f"{found.object} is compared without a dry-run: {error.message}")
        except NotFound:
            return Trial(note=f"namespace {world.namespace} does not exist yet, so nothing is tried by dry-run")
        except (Invalid, Denied, Conflict) as error:
            return Trial(refusal=error)

    return each_in_parallel(tried, plans)


def _change(found: ChildPlan, trial: Trial, *, paused: bool) -> ChildChange:
    if trial.refusal is not None and found.action != "Blocked":
        message = f"the API server would refuse it: {trial.refusal.message}"
        return ChildChange(found.object, "Blocked", message, _fields(found))
    if paused and found.action not in ("None", "Unknown", "Blocked"):
        return ChildChange(found.object, "Paused", f"{found.action} when spec.paused is no longer true", _fields(found))
    return ChildChange(found.object, found.action, found.message, _fields(found))


def _fields(found: ChildPlan) -> Sequence[FieldChange]:
    hashed = found.child_type.kind == CONFIG_MAP
    changed: Iterable[FieldChange] = (
        field
        for difference in found.changes
        for field in child_change(difference, others(difference, found.live), hashed=hashed)
    )
    return list(changed)[:LIMIT]


def restart_of(webapp: WebApp, plans: Sequence[ChildPlan], trials: Sequence[Trial], world: Snapshot) -> Restart:
    """Return whether the pods restart, and why."""
    found, trial = next(
        (pair for pair in zip(plans, trials, strict=True) if pair[0].child_type.kind == DEPLOYMENT), (None, Trial())
    )
    if webapp.paused:
        return Restart(False, PAUSED)
    if found is None or found.action == "Unknown":
        return Restart(None, "the Deployment cannot be read")
    if found.action == "Blocked" or trial.refusal is not None:
        return Restart(False, f"{found.object} is not written: {found.message or str(trial.refusal)}")
    if found.action == "Create":
        return Restart(False, "there are no pods yet; new ones start")
    return _by_template(found, trial, world)


def _by_template(found: ChildPlan, trial: Trial, world: Snapshot) -> Restart:
    """Return the verdict by the pod template: the Deployment controller restarts the pods when it changes."""
    reasons = [change.field for each in found.changes_pods for change in child_change(each, ())]
    if trial.stored is not None:
        before = template_of(world.manifests.get((found.child_type.kind, found.name)))
        after = template_of(trial.stored)
        stored = [place for place, _, _ in leaves("spec.template", before, after)]
        if not stored:
            return Restart(False, "the pod template stays the same")
        reasons = reasons or [f"{place} (changed by admission)" for place in stored]
    if not reasons:
        return Restart(False, "the pod template stays the same")
    live = world.manifests.get((found.child_type.kind, found.name)) or {}
    if found.action != "Replace" and (live.get("spec") or {}).get("paused"):
        resume = f"kubectl rollout resume deployment {found.name} -n {world.namespace}"
        return Restart(False, f"somebody paused {found.object}; they restart after: {resume}", reasons)
    more = len(reasons) - _REASONS
    named = ", ".join(reasons[:_REASONS]) + (f" and {more} more fields" if more > 0 else "")
    return Restart(True, f"the pod template changes: {named.replace('spec.template.', '')}", reasons)
