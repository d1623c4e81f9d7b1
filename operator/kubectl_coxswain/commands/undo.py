"""`undo`: return the spec of a WebApp to an earlier revision."""

from kubectl_coxswain.arguments import PROGRAM
from kubectl_coxswain.changing import replace_spec, warning_of
from kubectl_coxswain.fields import leaves
from kubectl_coxswain.find import webapp_of
from kubectl_coxswain.gitops import owner_of
from kubectl_coxswain.kubectl import Json
from kubectl_coxswain.last_applied import note_before_undo
from kubectl_coxswain.plan_text import write_plan
from kubectl_coxswain.planning import plan_of
from kubectl_coxswain.problems import Conflict, Forbidden, Problem
from kubectl_coxswain.reports import Done
from kubectl_coxswain.revisions import Revision, earlier, is_present, numbered, restored, revisions_of
from kubectl_coxswain.session import Arguments, Session
from kubectl_coxswain.verdict import is_deleted, is_paused


def run(session: Session, arguments: Arguments) -> int:
    """Show the plan, ask, and change the spec."""
    webapp = webapp_of(session.kubectl, arguments.name)
    revisions = revisions_of(session.kubectl, webapp)
    target = _target(revisions, webapp, arguments.to)
    metadata, spec = webapp["metadata"], restored(target.spec, webapp["spec"])
    _refuse_deleted(webapp, target)
    if is_present(target, webapp):
        raise _is_present_already(webapp, target)
    _refuse_gitops(webapp, target, forced=arguments.force or arguments.dry_run)
    cause = f"{PROGRAM} undo {metadata['name']} --to {target.number}"
    tried = _tried(session, webapp, spec, cause)
    if tried["spec"] == webapp["spec"]:
        raise _is_present_already(webapp, target)
    report = plan_of(session.kubectl, tried, webapp, session.now())
    notes = [*_warnings(target), *_lost(spec, tried["spec"]), *note_before_undo(webapp, spec), *warning_of(webapp)]
    report = report._replace(notes=[*report.notes, *notes])
    if arguments.dry_run:
        session.show("Plan", report, lambda: write_plan(session.screen, report))
        session.tell(report.notes)
        return 0
    if not session.structured:
        write_plan(session.screen, report)
        session.tell(report.notes)
        session.screen.blank()
        session.screen.flush()
    question = f"Return WebApp {metadata['name']} in namespace {metadata['namespace']} to revision {target.number}?"
    if not session.agreed(question, yes=arguments.yes):
        raise Problem("nothing was changed", "")
    _change(session, webapp, spec, cause)
    done = Done(metadata["namespace"], metadata["name"], f"returned to revision {target.number}", report.notes)
    session.show("Done", done, lambda: session.screen.line(f"{done.name} {done.done}. {_follow(webapp)}"))
    return 0


def _follow(webapp: Json) -> str:
    """Return the command that shows the rollout, or that begins it."""
    place = f"{webapp['metadata']['name']} -n {webapp['metadata']['namespace']}"
    if is_paused(webapp):
        return f"It is paused. To roll it out: {PROGRAM} resume {place}"
    return f"To follow it: {PROGRAM} status {place} --watch"


def _target(revisions: list[Revision], webapp: Json, wanted: int | None) -> Revision:
    """Return the wanted revision; by default the running one after a rollback, or else the one before.

    Raises:
        Problem: there is none, or it is not kept.
    """
    status, metadata = webapp.get("status") or {}, webapp["metadata"]
    if wanted is not None:
        return numbered(revisions, wanted, webapp)
    running, current = status.get("runningRevision"), status.get("revision")
    number = running if running not in (None, current) else earlier(revisions, webapp)
    if number is None:
        raise Problem(
            f"WebApp {metadata['name']} has no earlier revision",
            f"{PROGRAM} history {metadata['name']} -n {metadata['namespace']}",
        )
    return numbered(revisions, int(number), webapp)


def _warnings(target: Revision) -> list[str]:
    failed = target.note("failed")
    return [f"the rollout of revision {target.number} has failed before: {failed}"] if failed else []


def _lost(spec: Json, stored: Json) -> list[str]:
    """Return a note about each field dropped by the API server, because its schema is newer than the revision."""
    lost = [place for place, _, after in leaves("spec", spec, stored) if after is None]
    return [f"the present API has no {place}, so the WebApp does not get it back" for place in lost]


def _is_present_already(webapp: Json, target: Revision) -> Problem:
    name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
    return Problem(
        f"the spec of WebApp {name} is that of revision {target.number} already",
        f"{PROGRAM} history {name} -n {namespace}",
    )


def _refuse_deleted(webapp: Json, target: Revision) -> None:
    name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
    if is_deleted(webapp):
        raise Problem(
            f"WebApp {name} is being deleted, so the operator would not roll out revision {target.number}",
            f"save the spec for a new WebApp: {PROGRAM} history {name} --revision {target.number} -n {namespace}",
        )


def _refuse_gitops(webapp: Json, target: Revision, *, forced: bool) -> None:
    owner, metadata = owner_of(webapp), webapp["metadata"]
    if owner is None or forced:
        return
    raise Problem(
        f"{owner} applies WebApp {metadata['name']} and would set an undo back",
        f"revert the change in git to the state of revision {target.number}, or give --force",
    )


def _tried(session: Session, webapp: Json, spec: Json, cause: str) -> Json:
    """Return the WebApp after the undo."""
    try:
        return _change(session, webapp, spec, cause, dry_run=True)
    except Forbidden:
        # The plan is shown all the same; the change itself will report the missing right.
        return {**webapp, "spec": spec}


def _change(session: Session, webapp: Json, spec: Json, cause: str, *, dry_run: bool = False) -> Json:
    """Return the WebApp after the change."""
    metadata = webapp["metadata"]
    try:
        return replace_spec(session.kubectl, webapp, spec, cause, dry_run=dry_run)
    except Conflict as error:
        raise Conflict(
            f"WebApp {metadata['name']} was changed by somebody else meanwhile, so nothing was undone",
            f"look at the change, then run {PROGRAM} undo {metadata['name']} -n {metadata['namespace']} again",
        ) from error
