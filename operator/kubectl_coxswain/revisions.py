"""The kept revisions of a WebApp: ControllerRevisions, whose data is its spec."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coxswain.kernel.objects.quote import clean
from coxswain.webapp.content import UNRECORDED
from kubectl_coxswain.arguments import PROGRAM
from kubectl_coxswain.kubectl import Json, Kubectl
from kubectl_coxswain.names import CONTROLLER_REVISION, GROUP, WEBAPP_LABEL
from kubectl_coxswain.problems import Problem
from kubectl_coxswain.reports import RevisionReport
from kubectl_coxswain.verdict import is_paused, is_reconciled, unreported


@dataclass(frozen=True)
class Revision:
    """A kept spec of a WebApp."""

    number: int
    spec: dict[str, Any]
    name: str
    annotations: dict[str, str]

    def note(self, name: str) -> str:
        """Return one of the operator's annotations; empty if it is missing."""
        return clean(self.annotations.get(f"{GROUP}/{name}", ""))

    @property
    def was_ready(self) -> bool:
        """Whether it was Ready since the spec became this one. The time of an earlier rollout stays on it."""
        return self.note("ready-revision") == str(self.number)

    @property
    def cause(self) -> str:
        """The cause of the change, as the user has given it."""
        return clean(self.annotations.get("kubernetes.io/change-cause", ""))


def revisions_of(kubectl: Kubectl, webapp: Json) -> list[Revision]:
    """Return the kept revisions, the oldest first.

    Raises:
        Problem: they cannot be read, or the operator keeps none.
    """
    metadata = webapp["metadata"]
    selector = f"{WEBAPP_LABEL}={metadata['name']}"
    items = kubectl.all_of(CONTROLLER_REVISION, metadata["namespace"], labelSelector=selector)
    found = [_revision(item) for item in items if _is_of(item, metadata["uid"])]
    if not found and (webapp.get("status") or {}).get("revision") is None:
        raise _none_kept(webapp)
    return sorted(found, key=lambda revision: revision.number)


def _none_kept(webapp: Json) -> Problem:
    name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
    problem = f"WebApp {name} has no revisions"
    if not is_reconciled(webapp):
        return Problem(f"{problem}: the operator has not reconciled it yet", f"{PROGRAM} why {name} -n {namespace}")
    if is_paused(webapp):
        next_step = f"{PROGRAM} resume {name} -n {namespace}"
        return Problem(f"{problem}: the operator records none while spec.paused is true", next_step)
    return Problem(
        f"{problem}: the operator that serves it keeps none", f"check the version of the operator: {PROGRAM} version"
    )


def earlier(revisions: Sequence[Revision], webapp: Json) -> int | None:
    """Return the number of the revision before the present spec; None without one.

    The status may not know the present spec: while the WebApp is paused or not reconciled, its spec is no revision yet.
    """
    status = webapp.get("status") or {}
    if is_reconciled(webapp) and status.get("revision") is not None:
        number: int | None = status.get("previousRevision")
        return number
    return max((each.number for each in revisions if not is_present(each, webapp)), default=None)


def notes_of(webapp: Json) -> list[str]:
    """Return notes about unknown revisions."""
    if (webapp.get("status") or {}).get("revision") is None:
        return [*unreported(webapp), "the status names no revision, so it is not known which one runs"]
    return unreported(webapp)


def is_present(revision: Revision, webapp: Json) -> bool:
    """Tell whether the spec of a WebApp is that of a revision."""
    return _deployed(revision.spec) == _deployed(webapp.get("spec") or {})


def _deployed(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a spec that are part of a revision."""
    return {name: value for name, value in spec.items() if name not in UNRECORDED}


def reports(revisions: Sequence[Revision], webapp: Json) -> list[RevisionReport]:
    """Return the reports of all revisions."""
    status = webapp.get("status") or {}
    recorded = status.get("revision")
    running = status.get("runningRevision", recorded)
    known = recorded is not None and is_reconciled(webapp)
    return [
        RevisionReport(
            number=each.number,
            name=each.name,
            running=None if running is None else each.number == running,
            current=each.number == recorded if known else is_present(each, webapp),
            image=str(each.spec.get("image", "")),
            changed_at=each.note("changed-at"),
            changed_by=each.note("changed-by"),
            cause=each.cause,
            ready_at=each.note("ready-at") if each.was_ready else "",
            failed=each.note("failed"),
            render=each.note("render"),
        )
        for each in revisions
    ]


def numbered(revisions: Sequence[Revision], number: int, webapp: Json) -> Revision:
    """Return a revision by its number.

    Raises:
        Problem: it is not kept.
    """
    found = next((each for each in revisions if each.number == number), None)
    if found is None:
        metadata = webapp["metadata"]
        kept = ", ".join(str(each.number) for each in revisions)
        raise Problem(
            f"revision {number} of WebApp {metadata['name']} is not kept. There are: {kept}",
            f"kubectl coxswain history {metadata['name']} -n {metadata['namespace']}",
        )
    return found


def restored(recorded: Mapping[str, Any], present: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of an undo: that of the revision, scaled and paused as the WebApp is at present.

    The API server stores its default, `replicas: 1`, beside an autoscaler, and refuses other numbers. So the present
    number counts only if there is no autoscaler before and after the undo.
    """
    kept = {name: present[name] for name in UNRECORDED if name in present}
    if "autoscaling" in recorded or "autoscaling" in present:
        kept.pop("replicas", None)
    if "autoscaling" not in recorded and "replicas" in recorded:
        kept = {"replicas": recorded["replicas"], **kept}
    return {**_deployed(recorded), **kept}


def _revision(item: Json) -> Revision:
    annotations = item["metadata"].get("annotations") or {}
    spec = (item.get("data") or {}).get("spec") or {}
    return Revision(int(item.get("revision", 0)), spec, item["metadata"]["name"], annotations)


def _is_of(item: Json, uid: str) -> bool:
    references = item["metadata"].get("ownerReferences") or []
    return any(each.get("controller") and each.get("uid") == uid for each in references)
