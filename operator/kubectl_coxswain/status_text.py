"""The report of one WebApp, and its text."""

from collections.abc import Sequence

from kubectl_coxswain.ages import age
from kubectl_coxswain.kubectl import Json
from kubectl_coxswain.names import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER
from kubectl_coxswain.owned import RUNNING, read, tree
from kubectl_coxswain.replicas import Scales, counts_text
from kubectl_coxswain.reports import ConditionReport, StatusReport
from kubectl_coxswain.screen import Cell, Level, Span
from kubectl_coxswain.session import Session
from kubectl_coxswain.tree_text import write_tree
from kubectl_coxswain.verdict import verdict

_EXPECTED = {"Ready": "True", "Available": "True"}
"""The status of a condition when all is well; by default False."""


def report_of(webapp: Json, scales: Scales) -> StatusReport:
    """Return the report of a WebApp without its tree."""
    metadata, spec, status = webapp["metadata"], webapp.get("spec") or {}, webapp.get("status") or {}
    urls = status.get("urls") or ([status["url"]] if status.get("url") else [])
    return StatusReport(
        namespace=metadata["namespace"],
        name=metadata["name"],
        verdict=verdict(webapp),
        generation=metadata.get("generation", 0),
        observed_generation=status.get("observedGeneration", 0),
        image=spec.get("image", ""),
        paused=bool(spec.get("paused")),
        replicas=scales.counts(webapp),
        created=metadata.get("creationTimestamp", ""),
        revision=status.get("revision"),
        previous_revision=status.get("previousRevision"),
        running_revision=status.get("runningRevision"),
        urls=urls,
        conditions=[_condition(each) for each in status.get("conditions", [])],
    )


def _condition(found: Json) -> ConditionReport:
    texts = (str(found.get(name, "")) for name in ("type", "status", "reason", "message", "lastTransitionTime"))
    return ConditionReport(*texts)


def with_tree(session: Session, webapp: Json) -> StatusReport:
    """Return the report of a WebApp with its pods. Raises Problem."""
    found, notes = read(session.kubectl, webapp, (DEPLOYMENT, *RUNNING), unlabelled=(HORIZONTAL_POD_AUTOSCALER,))
    scales = Scales(found)
    # An autoscaler of others is no child.
    found.pop(HORIZONTAL_POD_AUTOSCALER, None)
    return report_of(webapp, scales)._replace(tree=tree(webapp, found), notes=notes)


def write_status(session: Session, report: StatusReport) -> None:
    """Write the report of one WebApp as text."""
    screen, now, found = session.screen, session.now(), report.verdict
    head = f"{screen.mark(found.level)}{report.name} is {found.state}"
    screen.paragraph(found.message, first=Span(f"{head}: " if found.message else head, found.level))
    screen.blank()
    rows: list[tuple[str, str, Level]] = [
        ("Name", report.name, "none"),
        ("Namespace", report.namespace, "none"),
        ("Image", report.image, "none"),
        ("Replicas", counts_text(report.replicas), "none"),
        ("Revision", _revisions(report), "none"),
        ("URL", ", ".join(report.urls), "none"),
        ("Generation", _generation(report), "none"),
        ("Age", age(report.created, now), "none"),
    ]
    screen.fields(rows)
    unusual = [each for each in report.conditions if session.wide or not _is_usual(each)]
    if unusual:
        screen.blank()
        shown = [_condition_row(session, each) for each in unusual]
        screen.table(("CONDITION", "STATUS", "REASON", "SINCE"), shown)
    if report.tree is not None:
        screen.blank()
        write_tree(screen, report.tree, now)


def _condition_row(session: Session, found: ConditionReport) -> Sequence[Cell]:
    level: Level = "good" if _is_usual(found) else "busy" if found.type == "Progressing" else "bad"
    since = age(found.since, session.now())
    return (Span(session.screen.mark(level) + found.type, level), found.status, found.reason, since)


def _is_usual(found: ConditionReport) -> bool:
    return found.status == _EXPECTED.get(found.type, "False")


def _revisions(report: StatusReport) -> str:
    if report.revision is None:
        return ""
    if report.running_revision is not None and report.running_revision != report.revision:
        return f"{report.running_revision} is running; {report.revision} failed"
    previous = f" (previous: {report.previous_revision})" if report.previous_revision is not None else ""
    return f"{report.revision}{previous}"


def _generation(report: StatusReport) -> str:
    behind = report.observed_generation < report.generation
    return f"{report.generation}, observed {report.observed_generation}" if behind else ""
