"""`plan`: what an apply of WebApps would change, and whether pods restart."""

from collections.abc import Iterator

from kubectl_coxswain.inputs import is_name
from kubectl_coxswain.kubectl import Json
from kubectl_coxswain.names import WEBAPP
from kubectl_coxswain.plan_text import write_plan
from kubectl_coxswain.planning import plan_of
from kubectl_coxswain.problems import WRONG_USAGE, Problem
from kubectl_coxswain.proposal import proposal
from kubectl_coxswain.reports import PlanReport
from kubectl_coxswain.session import Arguments, Session
from kubectl_coxswain.several import report_each

DIFFERENCES = 1
"""Exit code if there are differences, as of `kubectl diff`."""


def run(session: Session, arguments: Arguments) -> int:
    """Plan the WebApps of some files."""
    options = _options(arguments)
    webapps, ignored = _documents(session, arguments)
    reports, problems = report_each(webapps, lambda manifest: _planned(session, manifest, options))
    session.show("Plan", reports, lambda: _write(session, reports))
    session.tell([note for report in reports for note in report.notes])
    if ignored:
        session.warn(f"{ignored} other objects of the files are not planned: only WebApps are")
    for problem in problems:
        session.fail(problem)
    if problems:
        return WRONG_USAGE
    return DIFFERENCES if any(report.differs for report in reports) else 0


def _planned(session: Session, manifest: Json, options: tuple[str, ...]) -> PlanReport:
    """Return the plan of one WebApp. Raises Problem."""
    found = proposal(session.kubectl, manifest, options)
    try:
        return plan_of(session.kubectl, found.proposed, found.live, session.now(), found.notes)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if found.is_tried:
            raise
        raise Problem(
            f"WebApp {manifest['metadata']['name']} cannot be rendered: its spec is not valid "
            f"({type(error).__name__}: {error}), and the API server has not checked it",
            "compare it with the schema: kubectl explain webapp.spec --recursive",
        ) from error


def _options(arguments: Arguments) -> tuple[str, ...]:
    if not arguments.server_side:
        if arguments.field_manager or arguments.force_conflicts:
            raise Problem("--field-manager and --force-conflicts need --server-side", "add --server-side")
        return ()
    manager = (f"--field-manager={arguments.field_manager}",) if arguments.field_manager else ()
    return ("--server-side", *manager, *(("--force-conflicts",) if arguments.force_conflicts else ()))


def _documents(session: Session, arguments: Arguments) -> tuple[list[Json], int]:
    """Return the WebApps of the files, and the number of other objects."""
    objects: list[Json] = []
    for file in arguments.filename:
        found = session.kubectl.documents(file, session.stdin() if file == "-" else None)
        _check(file, found)
        objects += found
    webapps = [each for each in objects if _is_webapp(each)]
    if not webapps:
        raise Problem(
            f"{', '.join(arguments.filename)}: there is no WebApp", "give a file with a WebApp of coxswain.dev"
        )
    return list(_placed(webapps, session)), len(objects) - len(webapps)


def _check(file: str, objects: list[Json]) -> None:
    """Refuse WebApps without a valid name or a spec, because no plan can be made of them."""
    for manifest in filter(_is_webapp, objects):
        metadata = manifest.get("metadata") or {}
        name, namespace = metadata.get("name"), metadata.get("namespace")
        if not name:
            raise Problem(
                f"{file}: a WebApp has no metadata.name, so it cannot be compared with an existing one",
                "set metadata.name; generateName cannot be planned",
            )
        for field, value in (("name", name), ("namespace", namespace)):
            if value and not is_name(value):
                allowed = "lowercase letters, digits, - and . are allowed"
                raise Problem(f"{file}: metadata.{field} of a WebApp is {value!r}", f"correct it: {allowed}")
        if not isinstance(manifest.get("spec"), dict):
            raise Problem(f"{file}: WebApp {name} has no spec", "add the spec: kubectl explain webapp.spec")


def _placed(webapps: list[Json], session: Session) -> Iterator[Json]:
    for manifest in webapps:
        namespace = manifest["metadata"].get("namespace") or session.kubectl.namespace
        yield {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}


def _is_webapp(manifest: Json) -> bool:
    group = str(manifest.get("apiVersion", "")).partition("/")[0]
    return (group, manifest.get("kind")) == (WEBAPP.group, WEBAPP.kind)


def _write(session: Session, reports: list[PlanReport]) -> None:
    for number, report in enumerate(reports):
        if number:
            session.screen.blank()
        write_plan(session.screen, report)
