"""Adoption: an object that has a child's name becomes the WebApp's child, if an annotation on it allows that."""

from collections.abc import Callable

from coxswain.kernel.cache.store import Key, Store
from coxswain.kernel.conflicts.managed_fields import BEFORE_FIRST_APPLY
from coxswain.kernel.objects.field_paths import minus
from coxswain.kernel.objects.kinds import DEPLOYMENT, SERVICE, WEBAPP, Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.health import TERMINATING, Health, Level, condition, health, name_taken
from coxswain.webapp.identity import ADOPT_ANNOTATION
from coxswain.webapp.spec import WebApp


def foreign(webapp: WebApp, observed: Projection) -> Health | None:
    """Return the health of a child whose name a foreign object bears; None if it is the WebApp's, or may become so."""
    if observed.is_child_of(webapp) or observed.is_adoptable_by(webapp):
        return None
    controller = observed.controller
    if controller is None:
        place = f"{observed.kind.kind.lower()} {observed.name}"
        adopt = f"kubectl annotate {place} {ADOPT_ANNOTATION}={webapp.name} -n {observed.namespace}"
        return name_taken(None, adopt)
    if (controller.kind, controller.name) == (WEBAPP.kind, webapp.name):
        # Of a namesake that is gone: the garbage collector takes it, and its DELETED brings us back.
        return TERMINATING
    return name_taken(f"{controller.kind} {controller.name}", allowed=observed.names_adopter(webapp))


def adoptable_when(webapp: WebApp, kind: Kind, live: Projection | None, store: Store) -> str | None:
    """Return what an object must wait for before it is adopted: a Service, for the pods that it will route to."""
    if kind is not SERVICE or live is None or live.is_child_of(webapp):
        return None
    deployment = store.get(DEPLOYMENT, Key(webapp.namespace, webapp.name))
    if deployment is None or not deployment.is_child_of(webapp):
        return f"Deployment {webapp.name} is the WebApp's"
    content = deployment.content
    if condition(content, "Available").get("status") != "True":
        return f"Deployment {webapp.name} is available"
    selector = live.content.get("spec", {}).get("selector", {})
    labels = content.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {})
    if selector and selector.items() <= labels.items() and health(content).level is not Level.HEALTHY:
        # It leads to the new pods either way, while those of before may lack the ports that it will name.
        return f"Deployment {webapp.name} is rolled out"
    return None


def is_released(webapp: WebApp, observed: Projection) -> Callable[[str, str], bool]:
    """Return which managers, by name and operation, shall hold no field of ours of a child.

    They would keep one that is no longer desired for ever: the entry that stands for the time before our first apply,
    and of an object that was adopted all those that have updated it. Who applies is a writer of today.
    """
    adopted = observed.names_adopter(webapp)
    return lambda manager, operation: manager == BEFORE_FIRST_APPLY or (adopted and operation == "Update")


def to_release(webapp: WebApp, observed: Projection) -> bool:
    """Tell whether such a manager holds a field of ours."""
    released, owned = is_released(webapp, observed), observed.owned or {}
    return any(
        released(entry.manager, entry.operation) and minus(entry.fields, owned) != entry.fields
        for entry in observed.others
    )


def is_watched(webapp: WebApp, live: Projection) -> bool:
    """Tell whether a watch reports an object: it has our label, or is a child that has just lost it."""
    return live.label is not None or live.is_child_of(webapp)
