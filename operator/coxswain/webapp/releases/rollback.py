"""Rollback after a failed rollout (`rollout.onFailure`): which revision runs, and with which spec.

The decision is an annotation of the failed revision, so a restart of the operator changes nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.quote import MARK, quoted
from coxswain.kernel.objects.status_fields import Status, condition_of
from coxswain.kernel.status.conditions import PROGRESSING, READY, STALLED, ConditionState
from coxswain.kernel.workload import World
from coxswain.webapp.releases.revisions import Revision, recorded, revision_name
from coxswain.webapp.spec import Rollback, Spec, WebApp

ROLLED_BACK = "RolledBack"
"""This condition is present only while it is True. It is also the reason of the others."""

_EDIT = re.compile(r": kubectl edit \S+ \S+ -n \S+$")
_SENTENCE_OF_COMMAND = re.compile(r"\. (?:(?!\. ).)*: kubectl .*$")
"""The last sentence of a message, if it has a command."""

_OF_THE_PRESENT = ("paused", "conflicts", "replicas")
"""Fields that a rollback leaves as they are: they concern the operation, not the release."""


def current_revision(webapp: WebApp, world: World) -> Revision | None:
    """Return the revision of the written spec, if it is the newest one."""
    found = recorded(webapp, world)
    return found[0] if found and found[0].name == revision_name(webapp) else None


def rollback_target(webapp: WebApp, found: Sequence[Revision]) -> Revision | None:
    """Return the revision that runs after a failed rollout: the newest other one that was Ready, or None.

    It stays the same if it fails as well, so the operator does not change revisions again and again. `found` are the
    revisions, the newest first.
    """
    if not _is_wanted(webapp, found):
        return None
    return next((each for each in found[1:] if each.is_target), None)


def rolls_back(webapp: WebApp) -> bool:
    """Tell whether the spec asks for a rollback after a failed rollout."""
    return webapp.written.get("rollout", {}).get("onFailure") == "Rollback"


def _is_wanted(webapp: WebApp, found: Sequence[Revision]) -> bool:
    """Tell whether the spec asks for a rollback and its rollout has failed."""
    if not rolls_back(webapp):
        return False
    return bool(found) and found[0].name == revision_name(webapp) and found[0].failed is not None


def restored(spec: Mapping[str, Any], written: Spec) -> Spec:
    """Return a recorded spec as it runs again, besides the `written` one.

    An autoscaler would make the written `replicas` useless, even 0, so it returns only if the written spec has one.
    """
    present = _OF_THE_PRESENT if "autoscaling" in written else (*_OF_THE_PRESENT, "autoscaling")
    kept = {name: value for name, value in written.items() if name in present}
    rest = {name: value for name, value in spec.items() if name not in present}
    return cast("Spec", {**rest, **kept})


def rolled_back_conditions(
    webapp: WebApp, rollback: Rollback, states: Mapping[str, ConditionState]
) -> dict[str, ConditionState]:
    """Return the conditions of a WebApp that is rolled back, given those of its children.

    Available is as the pods are. Ready is False: the written spec does not run.
    """
    text, _, quotation = rollback.cause.partition(MARK)
    described = _described(webapp, rollback, text)
    told = quoted(described, quotation)
    ready, progressing = states[READY], states[PROGRESSING]
    rolled_back = ConditionState("False", ROLLED_BACK, told)
    worse = f"{described}. Revision {rollback.running} is not healthy: {ready.message}"
    return {
        **states,
        READY: ConditionState("False", ROLLED_BACK, told if ready.status == "True" else worse),
        PROGRESSING: progressing if progressing.status == "True" or webapp.paused else rolled_back,
        STALLED: ConditionState("True", ROLLED_BACK, told),
        ROLLED_BACK: ConditionState("True", "RolloutFailed", told),
    }


def without_target(webapp: WebApp, found: Sequence[Revision], ready: ConditionState) -> ConditionState:
    """Return the condition Ready of a WebApp whose rollout failed, if there is no revision to go back to."""
    if ready.status == "True" or not _is_wanted(webapp, found) or rollback_target(webapp, found) is not None:
        return ready
    reason = "spec.rollout.onFailure is Rollback, but each earlier revision was never Ready or has failed since"
    return replace(ready, message=f"{reason}. {ready.message}")


def rollback_events(previous: Status, present: Status) -> list[EventRecord]:
    """Return an Event if a rollback is new."""
    before, now = (condition_of(status, ROLLED_BACK) for status in (previous, present))
    if not now or now["message"] == before.get("message"):
        return []
    return [EventRecord(ROLLED_BACK, "Rollback", now["message"], "Warning")]


def way_to_undo(webapp: WebApp) -> str:
    """Return a sentence with the command that undoes a change of the spec, to append to a message."""
    problem = "`kubectl rollout undo` changes the pods alone, without their configuration, Service and routes"
    return f". {problem}. To return to an earlier revision, change the spec or run: {_undo(webapp)}"


def _undo(webapp: WebApp) -> str:
    return f"kubectl coxswain undo {webapp.name} -n {webapp.namespace}"


def _described(webapp: WebApp, rollback: Rollback, cause: str) -> str:
    """Return failure, action and advice; `cause` is the message of the failure without its quotation.

    Its own command is left out: it shows the pods of the failed revision, which are gone, or edits the spec, as the
    advice says.
    """
    running, problem = rollback.running, _SENTENCE_OF_COMMAND.sub("", _EDIT.sub("", cause))
    action = f"The operator runs revision {running} until the spec changes"
    advice = f"Correct the spec, or go back to revision {running}: {_undo(webapp)}"
    return f"revision {rollback.failed} failed: {problem}. {action}. {advice}"
