"""`conflicts`: fields of the spec that other field managers own."""

from kubectl_coxswain.arguments import PROGRAM
from kubectl_coxswain.kubectl import Json
from kubectl_coxswain.reports import ConflictEntry, ConflictsReport
from kubectl_coxswain.screen import Cell
from kubectl_coxswain.session import Arguments, Session, each_webapp, none_found, title
from kubectl_coxswain.verdict import condition, holds, is_paused, is_reconciled, unreported


def run(session: Session, arguments: Arguments) -> int:
    """Show the conflicts of one WebApp or of all."""
    webapps = each_webapp(session, arguments)
    reports = [conflicts_of(webapp) for webapp in webapps]
    shown = reports[0] if arguments.name else reports
    session.show("Conflicts", shown, lambda: _write(session, arguments, reports))
    return 0


def conflicts_of(webapp: Json) -> ConflictsReport:
    """Return the conflicts in the status of a WebApp."""
    metadata = webapp["metadata"]
    entries = [
        ConflictEntry(*(str(each.get(name, "")) for name in ("object", "field", "manager", "policy")))
        for each in (webapp.get("status") or {}).get("conflicts", [])
    ]
    contested = str(condition(webapp, "Contested").get("message", "")) if holds(webapp, "Contested") else ""
    reconciled, notes = is_reconciled(webapp), _unknown(webapp)
    return ConflictsReport(metadata["namespace"], metadata["name"], entries, contested, reconciled, notes)


def _unknown(webapp: Json) -> list[str]:
    """Return notes about conflicts missing in the status."""
    place = f"{webapp['metadata']['name']} -n {webapp['metadata']['namespace']}"
    late = unreported(webapp)
    if late:
        return [
            f"The present conflicts are not known: {note}. To find the cause: {PROGRAM} why {place}" for note in late
        ]
    if is_paused(webapp):
        note = "the operator reports only fields that a policy leaves to other managers"
        return [f"{webapp['metadata']['name']} is paused, so {note}. To see all differences: {PROGRAM} drift {place}"]
    return []


def _write(session: Session, arguments: Arguments, reports: list[ConflictsReport]) -> None:
    screen = session.screen
    if not reports:
        none_found(session, arguments)
        return
    place = ("NAMESPACE",) if arguments.all_namespaces else ()
    rows: list[list[Cell]] = [
        [*((report.namespace,) if place else ()), report.name, each.object, each.field, each.manager, each.policy]
        for report in reports
        for each in report.conflicts
    ]
    if rows:
        screen.table((*place, "NAME", "OBJECT", "FIELD", "MANAGER", "POLICY"), rows)
    for report in reports:
        if report.contested:
            screen.paragraph(f"{title(arguments, report)} is contested: {report.contested}", "  ", first="")
    known = [report for report in reports if not report.notes]
    if known and not rows and not any(report.contested for report in reports):
        others = "" if len(known) == len(reports) else " of the other WebApps"
        screen.line(f"No other field manager owns a field of the spec{others}.")
    for report in reports:
        for note in report.notes:
            screen.paragraph(note, "  ", first="")
