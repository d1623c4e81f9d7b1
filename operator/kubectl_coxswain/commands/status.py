"""`status`: a table of WebApps, or one WebApp with its pods; `--watch` follows a rollout."""

from collections.abc import Sequence

from kubectl_coxswain.ages import age
from kubectl_coxswain.find import webapp_of
from kubectl_coxswain.kubectl import Json, Kubectl
from kubectl_coxswain.names import DEPLOYMENT
from kubectl_coxswain.owned import RUNNING, read, tree
from kubectl_coxswain.problems import Forbidden, NotFound, Problem
from kubectl_coxswain.reports import ConditionReport, Counts, StatusReport
from kubectl_coxswain.screen import Cell, Level, Span
from kubectl_coxswain.session import Arguments, Session, each_webapp, none_found
from kubectl_coxswain.tree_text import write_tree
from kubectl_coxswain.verdict import FINAL, verdict

_EXPECTED = {"Ready": "True", "Available": "True"}
"""The status of a condition when all is well; by default False."""


def run(session: Session, arguments: Arguments) -> int:
    """Show the status of one WebApp or of all."""
    if arguments.watch:
        return _follow(session, arguments)
    webapps = each_webapp(session, arguments)
    if arguments.name:
        report = _with_tree(session, webapps[0])
        session.show("Status", report, lambda: _write(session, report))
        session.tell(report.notes)
        return 0
    reports = [report_of(webapp) for webapp in webapps]
    session.show("Status", reports, lambda: _write_table(session, arguments, reports))
    return 0


def report_of(webapp: Json) -> StatusReport:
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
        replicas=Counts(
            spec.get("replicas", 1) if "autoscaling" not in spec else status.get("replicas", 0),
            status.get("updatedReplicas", 0),
            status.get("readyReplicas", 0),
        ),
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


def _with_tree(session: Session, webapp: Json) -> StatusReport:
    found, notes = read(session.kubectl, webapp, RUNNING)
    return report_of(webapp)._replace(tree=tree(webapp, found), notes=notes)


def _write(session: Session, report: StatusReport) -> None:
    screen, now, found = session.screen, session.now(), report.verdict
    head = f"{screen.mark(found.level)}{report.name} is {found.state}"
    screen.paragraph(found.message, first=Span(f"{head}: " if found.message else head, found.level))
    screen.blank()
    rows: list[tuple[str, str, Level]] = [
        ("Name", report.name, "none"),
        ("Namespace", report.namespace, "none"),
        ("Image", report.image, "none"),
        ("Replicas", _counts(report.replicas), "none"),
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


def _counts(counts: Counts) -> str:
    return f"{counts.desired} desired, {counts.updated} updated, {counts.ready} ready"


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


def _follow(session: Session, arguments: Arguments) -> int:
    """Follow one WebApp until its rollout is finished or has failed, or until the timeout.

    Raises:
        Problem: the rollout has failed, or the time is over.
    """
    began, last, shown = session.now(), "", 0
    while True:
        webapp = webapp_of(session.kubectl, arguments.name)
        version, final = webapp["metadata"]["resourceVersion"], verdict(webapp)
        if version != last or session.screen.width is not None:
            shown = _update(session, webapp, shown, changed=version != last)
            last = version
        if final.state in FINAL and not (final.state == "Healthy" and _rolls_out(session.kubectl, webapp)):
            return _ended(session, arguments, final.state, final.message)
        if (session.now() - began).total_seconds() >= arguments.timeout:
            message = f"{arguments.name} is still {final.state} after {arguments.timeout:g} s: {final.message}"
            raise Problem(message, f"kubectl coxswain why {arguments.name} -n {session.kubectl.namespace}")
        session.sleep(arguments.interval)


def _rolls_out(kubectl: Kubectl, webapp: Json) -> bool:
    """Tell whether the Deployment is ahead of the status: after `kubectl rollout restart` the WebApp is unchanged."""
    metadata = webapp["metadata"]
    try:
        deployment = kubectl.one(DEPLOYMENT, metadata["name"], metadata["namespace"])
    except (Forbidden, NotFound):
        return False
    spec, status = deployment.get("spec") or {}, deployment.get("status") or {}
    observed = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    wanted = spec.get("replicas", 1)
    return not (observed and status.get("updatedReplicas", 0) >= wanted and status.get("replicas", 0) <= wanted)


def _update(session: Session, webapp: Json, shown: int, *, changed: bool) -> int:
    """Write the present state over the one before; in plain text a line for each change."""
    report = report_of(webapp)
    if session.structured or session.screen.width is None:
        if changed and session.output == "json":
            _write_json_line(session, report)
        elif changed:
            found = report.verdict
            session.screen.line(f"{found.state} ({found.reason}), {_counts(report.replicas)}: {found.message}")
        session.screen.flush()
        return 0
    report = _with_tree(session, webapp)
    session.screen.back(shown)
    before = session.screen.written
    _write(session, report)
    session.screen.flush()
    return session.screen.written - before


def _write_json_line(session: Session, report: StatusReport) -> None:
    import json  # noqa: PLC0415

    from kubectl_coxswain.reports import document  # noqa: PLC0415

    session.screen.raw(json.dumps(document("Status", report), ensure_ascii=False) + "\n")


def _ended(session: Session, arguments: Arguments, state: str, message: str) -> int:
    if state == "Healthy":
        return 0
    name, namespace = arguments.name, session.kubectl.namespace
    if state == "Paused":
        raise Problem(
            f"{name} is paused, so no rollout ends: {message}", f"kubectl coxswain resume {name} -n {namespace}"
        )
    if state == "Terminating":
        raise NotFound(f"{name} is being deleted", "")
    raise Problem(f"{name} is {state}: {message}", f"kubectl coxswain why {name} -n {namespace}")
