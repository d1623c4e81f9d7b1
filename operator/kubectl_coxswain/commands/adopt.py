"""`adopt`: let a WebApp adopt existing objects that have the names of its children."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from coxswain.webapp.identity import ADOPT_ANNOTATION
from coxswain.webapp.spec import WebApp
from coxswain.webapp.workload import WORKLOAD
from kubectl_coxswain.arguments import PROGRAM
from kubectl_coxswain.child_plan import ChildPlan, child_plans, is_foreign, others
from kubectl_coxswain.fields import LIMIT, child_change
from kubectl_coxswain.find import webapp_of
from kubectl_coxswain.kubectl import Json
from kubectl_coxswain.plan_text import write_child
from kubectl_coxswain.planning import as_operated
from kubectl_coxswain.problems import Conflict, Problem
from kubectl_coxswain.reports import ChildChange, Done
from kubectl_coxswain.session import Arguments, Session
from kubectl_coxswain.snapshot import Place, Snapshot, snapshot
from kubectl_coxswain.verdict import deletion, is_paused


@dataclass(frozen=True)
class Candidate:
    """An object with the name of a child that belongs to nobody."""

    place: Place
    manifest: Json
    plan: ChildPlan
    """The plan of its adoption."""


def run(session: Session, arguments: Arguments) -> int:
    """Show the changes, ask, and annotate the objects."""
    webapp = webapp_of(session.kubectl, arguments.name)
    name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
    world = snapshot(session.kubectl, webapp, session.now())
    notes = deletion(webapp)
    session.tell(notes)
    found, settled = candidates(as_operated(webapp, world), world, arguments.kinds)
    more = [*settled, *world.notes({kind.kind for kind in WORKLOAD.projector.kinds.children})]
    session.tell(more)
    if not found:
        done = Done(namespace, name, "has nothing more to adopt", [*notes, *more])
        session.show("Done", done, lambda: session.screen.paragraph(f"WebApp {name} {done.done}."))
        return 0
    if not session.structured:
        for each in found:
            write_child(session.screen, _change(each.plan))
        session.screen.blank()
        session.screen.flush()
    listed = ", ".join(each.plan.object for each in found)
    if not session.agreed(f"Let WebApp {name} adopt {listed}?", yes=arguments.yes):
        raise Problem("nothing was changed", "")
    _annotate_all(session, found, name, namespace)
    done = Done(namespace, name, f"may adopt {listed}", [*notes, *more])
    following = "The operator looks for the annotation within a minute."
    if is_paused(webapp):
        following = f"It is paused. To let it adopt: {PROGRAM} resume {name} -n {namespace}"
    text = f"WebApp {name} {done.done}. {following}"
    session.show("Done", done, lambda: session.screen.paragraph(text))
    return 0


def candidates(webapp: WebApp, world: Snapshot, kinds: Sequence[str]) -> tuple[list[Candidate], list[str]]:
    """Return the adoptable objects of some kinds, or of all, with the plan of their adoption.

    Args:
        webapp: the WebApp as it runs.
        world: the objects around it.
        kinds: the kinds; all without one.

    Returns:
        The objects, and a note for each object of the named kinds that needs no adoption or may be adopted already.

    Raises:
        Problem: there is nothing to adopt, or nothing of a named kind.
    """
    plans = child_plans(webapp, world)
    foreign = [each for each in plans if is_foreign(each.health) and _is_free(each)]
    chosen = [each for each in foreign if not kinds or _is_named(each, kinds)]
    settled = {each.object: note for each in plans if _is_named(each, kinds) and (note := _settled(each, webapp))}
    known = [*foreign, *(each for each in plans if each.object in settled)]
    missing = [kind for kind in kinds if not any(_is_named(each, [kind]) for each in known)]
    if missing or not (chosen or settled):
        wanted = missing[:1]
        unread = [each for each in plans if each.action == "Unknown" and (not wanted or _is_named(each, wanted))]
        raise _nothing(webapp, wanted, unread)
    places = [(each.child_type.kind, each.name) for each in chosen]
    manifests = [world.manifests[place] for place in places]
    for place, manifest in zip(places, manifests, strict=True):
        annotated: dict[str, Any] = {**(manifest["metadata"].get("annotations") or {}), ADOPT_ANNOTATION: webapp.name}
        metadata = {**manifest["metadata"], "annotations": annotated}
        world.objects[place] = WORKLOAD.projector.observe(place[0], {**manifest, "metadata": metadata})
    planned = {each.object: each for each in child_plans(webapp, world)}
    found = [
        Candidate(place, manifest, planned[each.object])
        for place, manifest, each in zip(places, manifests, chosen, strict=True)
    ]
    return found, list(settled.values())


def _settled(found: ChildPlan, webapp: WebApp) -> str:
    """Return a note if an object is a child, or may become one, already; else an empty text."""
    if found.live is None:
        return ""
    if found.live.is_child_of(webapp):
        return f"{found.object} belongs to WebApp {webapp.name} already"
    return f"{found.object} may be adopted already" if found.live.is_adoptable_by(webapp) else ""


def _nothing(webapp: WebApp, kinds: Sequence[str], unread: Sequence[ChildPlan]) -> Problem:
    """Return the problem that there is nothing to adopt, as far as the user may see it."""
    place = f"{webapp.name} -n {webapp.namespace}"
    if unread:
        unknown = "; ".join(f"{each.object}: {each.message}" for each in unread)
        message = f"it is not known whether there is anything to adopt for WebApp {webapp.name}. {unknown}"
        return Problem(message, f"{PROGRAM} why {place}")
    if kinds:
        return Problem(f"there is no {kinds[0]} to adopt for WebApp {webapp.name}", f"{PROGRAM} adopt {place}")
    message = "no object without an owner has the name of a child"
    return Problem(f"there is nothing to adopt for WebApp {webapp.name}: {message}", f"{PROGRAM} why {place}")


def _is_free(found: ChildPlan) -> bool:
    return found.live is not None and found.live.controller is None


def _is_named(found: ChildPlan, kinds: Sequence[str]) -> bool:
    kind = found.child_type.kind
    return any(word.lower() in (kind.kind.lower(), kind.plural) for word in kinds)


def _change(found: ChildPlan) -> ChildChange:
    fields = [
        field for difference in found.changes for field in child_change(difference, others(difference, found.live))
    ]
    return ChildChange(found.object, found.action, found.message, fields[:LIMIT])


def _annotate_all(session: Session, found: Sequence[Candidate], name: str, namespace: str) -> None:
    """Annotate the objects. Raises Problem that names those that are annotated before."""
    for number, each in enumerate(found):
        try:
            _annotate(session, each, name, namespace)
        except Problem as problem:
            before = ", ".join(each.plan.object for each in found[:number])
            done = f". WebApp {name} may adopt {before} already" if before else ""
            raise replace(problem, message=f"{problem.message}{done}") from problem


def _annotate(session: Session, found: Candidate, name: str, namespace: str) -> None:
    kind = found.place[0]
    resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    try:
        session.kubectl.text(
            *("annotate", resource, found.plan.name, f"{ADOPT_ANNOTATION}={name}", "--overwrite"),
            f"--namespace={namespace}",
            f"--resource-version={found.manifest['metadata']['resourceVersion']}",
        )
    except Conflict as error:
        raise Conflict(
            f"{found.plan.object} was changed by somebody else meanwhile, so it is not adopted",
            f"run {PROGRAM} adopt {name} -n {namespace} again",
        ) from error
