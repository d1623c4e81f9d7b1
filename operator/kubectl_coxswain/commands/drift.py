"""`drift`: fields of the children that differ from the desired state, and those that were corrected."""

from collections.abc import Sequence
from datetime import datetime

from coxswain.kernel.conflicts.write_plan import HeldField
from coxswain.webapp.kinds import CONFIG_MAP, WEBAPP
from kubectl_coxswain.arguments import PROGRAM
from kubectl_coxswain.child_plan import ChildPlan, child_plans, concerned, is_foreign, others
from kubectl_coxswain.fields import child_change, displayed
from kubectl_coxswain.kubectl import Json, Kubectl
from kubectl_coxswain.planning import as_operated
from kubectl_coxswain.problems import FAILED, NotFound
from kubectl_coxswain.reports import ChildDrift, Correction, DriftReport, FieldChange
from kubectl_coxswain.screen import Level, Span
from kubectl_coxswain.session import Arguments, Session, each_webapp, none_found, title
from kubectl_coxswain.several import report_each
from kubectl_coxswain.snapshot import snapshot
from kubectl_coxswain.verdict import deletion, unreported

_STATES = {
    "Create": "Missing",
    "Change": "Differs",
    "Adopt": "Foreign",
    "Replace": "Immutable",
    "Remove": "NotNeeded",
    "Unknown": "Unknown",
    "None": "InSync",
}
_LEVEL: dict[str, Level] = {"InSync": "good", "NotNeeded": "busy", "Terminating": "busy", "Unknown": "unknown"}
_VERDICTS: dict[bool | None, tuple[Level, str]] = {
    True: ("bad", "differs from the desired state"),
    False: ("good", "is as desired"),
    None: ("unknown", "is as desired in the objects that you may read"),
}


def run(session: Session, arguments: Arguments) -> int:
    """Show the drift of one WebApp or of all."""
    webapps = each_webapp(session, arguments)
    if not webapps and not session.structured:
        none_found(session, arguments)
    reports, problems = report_each(webapps, lambda webapp: drift_of(session.kubectl, webapp, session.now()))
    shown = reports[0] if arguments.name else reports
    session.show("Drift", shown, lambda: _write_all(session, arguments, reports))
    session.tell([note for report in reports for note in report.notes])
    for problem in problems:
        session.fail(problem)
    return FAILED if problems else 0


def drift_of(kubectl: Kubectl, webapp: Json, now: datetime) -> DriftReport:
    """Return the drift of a WebApp.

    Raises:
        Problem: the cluster cannot be asked, the children that the operator wants are not known, or the WebApp was
            deleted meanwhile.
    """
    metadata = webapp["metadata"]
    world = snapshot(kubectl, webapp, now)
    plans = child_plans(as_operated(webapp, world), world)
    if any(found.action == "Create" for found in plans):
        _check_existence(kubectl, webapp)
    children = [_child(found) for found in plans]
    corrections = [
        Correction(*(each[name] for name in ("object", "field", "manager", "wanted", "found", "count")))
        for each in (webapp.get("status") or {}).get("drift", [])
    ]
    notes = [*deletion(webapp), *unreported(webapp), *world.notes(concerned(webapp, plans))]
    return DriftReport(metadata["namespace"], metadata["name"], _drifted(children), children, corrections, notes)


def _check_existence(kubectl: Kubectl, webapp: Json) -> None:
    """Check that the children are not missing because their WebApp is gone. Raises Problem."""
    metadata = webapp["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    try:
        uid = kubectl.one(WEBAPP, name, namespace)["metadata"]["uid"]
    except NotFound:
        uid = None
    if uid != metadata["uid"]:
        raise NotFound(
            f"WebApp {name} in namespace {namespace} was deleted while its children were read",
            f"{PROGRAM} status -n {namespace}",
        )


def _drifted(children: Sequence[ChildDrift]) -> bool | None:
    """Tell whether a child differs; None if no read one does, and others cannot be read."""
    states = {child.state for child in children}
    if states - {"InSync", "Unknown"}:
        return True
    return None if "Unknown" in states else False


def _child(found: ChildPlan) -> ChildDrift:
    hashed = found.child_type.kind == CONFIG_MAP
    fields = [
        field
        for difference in found.changes
        for field in child_change(difference, others(difference, found.live), hashed=hashed)
    ]
    left = [_left(held) for held in found.planned.left if held.differs] if found.planned is not None else []
    return ChildDrift(found.object, _state(found), found.message, fields, left)


def _state(found: ChildPlan) -> str:
    """Return the state of a child. docs/plugin.md lists all states."""
    if found.action != "Blocked":
        return _STATES[found.action]
    if found.live is None:
        return "Missing"
    if is_foreign(found.health):
        return "Foreign"
    if found.live.terminating:
        return "Terminating"
    return "Immutable" if found.obstacle is not None else "Differs"


def _left(held: HeldField) -> FieldChange:
    place = held.difference.text
    live, wanted = displayed(place, held.difference.found), displayed(place, held.difference.wanted)
    return FieldChange(place, live, wanted, (held.manager,))


def _write_all(session: Session, arguments: Arguments, reports: list[DriftReport]) -> None:
    for number, report in enumerate(reports):
        if number:
            session.screen.blank()
        _write(session, title(arguments, report), report)


def _write(session: Session, name: str, report: DriftReport) -> None:
    screen = session.screen
    level, verdict = _VERDICTS[report.drifted]
    screen.line(Span(f"{screen.mark(level)}{name} {verdict}", level))
    for child in report.children:
        if child.state == "InSync" and not child.left and not session.wide:
            continue
        level = _LEVEL.get(child.state, "bad")
        text = f": {child.message}" if child.message else ""
        screen.blank()
        screen.paragraph(f"{child.object}: {child.state}{text}", "  ", first="")
        for each in child.fields:
            _write_field(session, each, "changed by")
        for each in child.left:
            _write_field(session, each, "left to")
    if report.corrections:
        screen.blank()
        screen.line(Span("Corrected before:", "head"))
        rows = [(e.object, e.field, e.manager, e.found, e.wanted, str(e.times)) for e in report.corrections]
        screen.table(("OBJECT", "FIELD", "MANAGER", "FOUND", "WANTED", "TIMES"), rows)


def _write_field(session: Session, found: FieldChange, what: str) -> None:
    owners = f" ({what} {', '.join(found.managers)})" if found.managers else ""
    text = f"live {found.live}, desired {found.wanted}{owners}"
    session.screen.paragraph(text, "    ", first=f"  {found.field}: ")
