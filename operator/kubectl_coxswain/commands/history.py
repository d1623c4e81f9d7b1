"""`history`: the kept revisions of a WebApp, or the spec of one of them."""

from kubectl_coxswain.ages import age
from kubectl_coxswain.find import webapp_of
from kubectl_coxswain.reports import HistoryReport, RevisionReport
from kubectl_coxswain.revisions import notes_of, numbered, reports, revisions_of
from kubectl_coxswain.screen import Cell, Span
from kubectl_coxswain.session import Arguments, Session


def run(session: Session, arguments: Arguments) -> int:
    """Show the revisions."""
    webapp = webapp_of(session.kubectl, arguments.name)
    revisions = revisions_of(session.kubectl, webapp)
    if arguments.revision is not None:
        from kubectl_coxswain.structured import as_json, as_yaml  # noqa: PLC0415 - imported on demand: the plugin starts faster

        spec = numbered(revisions, arguments.revision, webapp).spec
        session.screen.raw(as_json(spec) if session.output == "json" else as_yaml(spec))
        return 0
    metadata = webapp["metadata"]
    found = reports(revisions, webapp)
    report = HistoryReport(metadata["namespace"], metadata["name"], found, notes_of(webapp))
    session.show("History", report, lambda: _write(session, report))
    session.tell(report.notes)
    return 0


def _write(session: Session, report: HistoryReport) -> None:
    now, more = session.now(), ("NAME", "RENDER", "FAILED") if session.wide else ()
    rows = []
    for each in report.revisions:
        cells: list[Cell] = [str(each.number), _state(session, each), age(each.changed_at, now), each.changed_by]
        cells += [each.image, *((each.name, each.render, each.failed) if session.wide else ()), each.cause]
        rows.append(cells)
    session.screen.table(("REVISION", "STATE", "AGE", "BY", "IMAGE", *more, "CAUSE"), rows)


def _state(session: Session, found: RevisionReport) -> Span:
    mark = session.screen.mark
    if found.failed:
        return Span(mark("bad") + "Failed", "bad")
    if found.running:
        return Span(mark("good") + "Running", "good") if found.ready_at else Span(mark("busy") + "RollingOut", "busy")
    return Span("WasReady") if found.ready_at else Span("NeverReady", "dim")
