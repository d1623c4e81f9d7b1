"""`status`: a table of WebApps, or one WebApp with its pods; `--watch` follows a rollout."""

from collections.abc import Sequence

from kubectl_coxswain.ages import age
from kubectl_coxswain.kubectl import Json
from kubectl_coxswain.names import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER, WEBAPP_LABEL
from kubectl_coxswain.owned import read_all
from kubectl_coxswain.replicas import Scales, shown
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
    reports, notes = _reports(session, arguments, webapps)
    session.show("Status", reports, lambda: _write_table(session, arguments, reports))
    session.tell(notes)
    return 0


def _reports(session: Session, arguments: Arguments, webapps: Sequence[Json]) -> tuple[list[StatusReport], list[str]]:
    """Return the reports of several WebApps, and a note for each kind that may not be listed. Raises Problem."""
    if not webapps:
        return [], []
    selectors = {DEPLOYMENT: WEBAPP_LABEL, HORIZONTAL_POD_AUTOSCALER: ""}
    found, notes = read_all(session.kubectl, None, selectors, everywhere=arguments.all_namespaces)
    scales = Scales(found)
    return [report_of(webapp, scales)._replace(notes=notes) for webapp in webapps], notes


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
        ready = f"{shown(report.replicas.ready)}/{shown(report.replicas.desired)}"
        cells += [ready, report.image, age(report.created, now)]
        if session.wide:
            revision = "" if report.revision is None else str(report.revision)
            cells += [str(report.generation), revision, ", ".join(report.urls), report.verdict.message]
        rows.append(cells)
    session.screen.table((*place, "NAME", "STATE", "REASON", "READY", "IMAGE", "AGE", *more), rows)
