"""`status`: a table of WebApps, or one WebApp with its pods; `--watch` follows a rollout."""

from collections.abc import Sequence

from kubectl_coxswain.ages import age
from kubectl_coxswain.reports import StatusReport
from kubectl_coxswain.screen import Cell, Span
from kubectl_coxswain.session import Arguments, Session, each_webapp, none_found
from kubectl_coxswain.status_text import report_of, with_tree, write_status


def run(session: Session, arguments: Arguments) -> int:
    """Show the status of one WebApp or of all."""
    if arguments.watch:
        from kubectl_coxswain.following import follow  # noqa: PLC0415 - only with --watch

        return follow(session, arguments)
    webapps = each_webapp(session, arguments)
    if arguments.name:
        report = with_tree(session, webapps[0])
        session.show("Status", report, lambda: write_status(session, report))
        session.tell(report.notes)
        return 0
    reports = [report_of(webapp) for webapp in webapps]
    session.show("Status", reports, lambda: _write_table(session, arguments, reports))
    return 0


def _write_table(session: Session, arguments: Arguments, reports: Sequence[StatusReport]) -> None:
    if not reports:
        none_found(session, arguments)
        return
    now, place = session.now(), ("NAMESPACE",) if arguments.all_namespaces else ()
    more = ("GENERATION", "REVISION", "URL", "MESSAGE") if session.wide else ()
    rows = []
    for report in reports:
        level, state = report.verdict.level, report.verdict.state
        cells: list[Cell] = [report.namespace] if place else []
        cells += [report.name, Span(session.screen.mark(level) + state, level), report.verdict.reason]
        cells += [f"{report.replicas.ready}/{report.replicas.desired}", report.image, age(report.created, now)]
        if session.wide:
            revision = "" if report.revision is None else str(report.revision)
            cells += [str(report.generation), revision, ", ".join(report.urls), report.verdict.message]
        rows.append(cells)
    session.screen.table((*place, "NAME", "STATE", "REASON", "READY", "IMAGE", "AGE", *more), rows)
