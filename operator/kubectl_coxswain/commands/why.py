"""`why`: the cause of a WebApp that is not healthy, the evidence, and the next command."""

from kubectl_coxswain.ages import age
from kubectl_coxswain.evidence import gather
from kubectl_coxswain.reports import Evidence, WhyReport
from kubectl_coxswain.screen import Cell, Span
from kubectl_coxswain.session import Arguments, Session, each_webapp, none_found, title
from kubectl_coxswain.verdict import verdict


def run(session: Session, arguments: Arguments) -> int:
    """Explain one WebApp, or all unhealthy ones."""
    webapps = each_webapp(session, arguments)
    if not webapps:
        none_found(session, arguments)
    if not arguments.name:
        unhealthy = [webapp for webapp in webapps if verdict(webapp).state != "Healthy"]
        reports = [gather(session.kubectl, webapp) for webapp in unhealthy]
        session.show("Why", reports, lambda: _write_all(session, arguments, reports, len(webapps)))
        session.tell([note for report in reports for note in report.notes])
        return 0
    report = gather(session.kubectl, webapps[0])
    session.show("Why", report, lambda: _write(session, report.name, report))
    session.tell(report.notes)
    return 0


def _write_all(session: Session, arguments: Arguments, reports: list[WhyReport], count: int) -> None:
    for number, report in enumerate(reports):
        if number:
            session.screen.blank()
        _write(session, title(arguments, report), report)
    if not reports and count:
        session.screen.line(f"All {count} WebApps are healthy.")


def _write(session: Session, name: str, report: WhyReport) -> None:
    screen, found = session.screen, report.verdict
    screen.line(Span(f"{screen.mark(found.level)}{name} is {found.state}", found.level), f" ({found.reason})")
    screen.blank()
    screen.paragraph(report.cause, " " * 7, first=Span("Cause: ", "head"))
    if report.evidence:
        screen.blank()
        screen.line(Span("Evidence:", "head"))
        for each in report.evidence:
            _write_evidence(session, each)
    if report.next:
        screen.blank()
        screen.line(Span("Next:", "head"))
        for command in report.next:
            screen.paragraph(command, "    ", first="    ")


def _write_evidence(session: Session, found: Evidence) -> None:
    times = f" ({found.times} times)" if found.times > 1 else ""
    since = age(found.last, session.now())
    ago = f", {since} ago" if since else ""
    head: Cell = f"  {found.source} {found.object}: {found.reason}{times}{ago}"
    session.screen.paragraph(f"{head}: {found.message}" if found.message else str(head), "      ", first="  ")
