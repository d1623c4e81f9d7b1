"""The render version of a WebApp: that of its last rollout while the spec stays, otherwise the newest one."""

from coxswain.kernel.status.health import Health, Level
from coxswain.webapp.identity import RENDER_ANNOTATION
from coxswain.webapp.releases.render import LATEST, is_known, newest, usable
from coxswain.webapp.releases.revisions import Revision
from coxswain.webapp.spec import WebApp


def render_of(webapp: WebApp, current: Revision | None) -> str:
    """Return the version that renders a WebApp, given the revision of its spec."""
    if current is None or webapp.asks_for_newest_render:
        return newest()
    return usable(current.note(RENDER_ANNOTATION))


def unknown_render(webapp: WebApp) -> Health | None:
    """Return why the Deployment stays as it is, if a newer operator has rolled it out by an unknown version."""
    if is_known(webapp.render):
        return None
    problem = f"a newer operator has rolled it out by render version {webapp.render}, which this one does not know"
    action = "The operator leaves it as it is, so no pod restarts, until the spec changes"
    command = f"kubectl annotate webapp {webapp.name} -n {webapp.namespace} {RENDER_ANNOTATION}={LATEST} --overwrite"
    advice = f"Upgrade the operator, or let this version roll it out: {command}"
    return Health(Level.DEGRADED, "RenderUnknown", f"{problem}. {action}. {advice}", stalled=True)
