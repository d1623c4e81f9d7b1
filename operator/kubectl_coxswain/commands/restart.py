"""`restart`: restart the pods of a WebApp by a rolling update."""

from kubectl_coxswain.arguments import PROGRAM
from kubectl_coxswain.find import webapp_of
from kubectl_coxswain.names import DEPLOYMENT
from kubectl_coxswain.problems import NotFound, Problem
from kubectl_coxswain.reports import Done
from kubectl_coxswain.session import Arguments, Session
from kubectl_coxswain.verdict import deletion, is_deleted, is_paused


def run(session: Session, arguments: Arguments) -> int:
    """Restart the Deployment of a WebApp with kubectl: the operator does not revert that."""
    webapp = webapp_of(session.kubectl, arguments.name)
    name, namespace = webapp["metadata"]["name"], webapp["metadata"]["namespace"]
    why = f"{PROGRAM} why {name} -n {namespace}"
    try:
        deployment = session.kubectl.one(DEPLOYMENT, name, namespace)
    except NotFound:
        raise Problem(f"WebApp {name} has no Deployment yet, so there is nothing to restart", why) from None
    references = deployment["metadata"].get("ownerReferences") or []
    if not any(each.get("uid") == webapp["metadata"]["uid"] for each in references):
        raise Problem(f"Deployment {name} does not belong to WebApp {name}", why)
    if (deployment.get("spec") or {}).get("paused"):
        resume = f"kubectl rollout resume deployment/{name} -n {namespace}"
        raise Problem(f"somebody paused Deployment {name}, so kubectl cannot restart its pods", f"resume it: {resume}")
    session.kubectl.text("rollout", "restart", f"deployment/{name}", f"--namespace={namespace}")
    done = Done(namespace, name, "restarted", deletion(webapp))
    follow = _follow(name, namespace, ends=is_paused(webapp) or is_deleted(webapp))
    session.show("Done", done, lambda: session.screen.line(f"The pods of {name} restart. To follow them: {follow}"))
    session.tell(done.notes)
    return 0


def _follow(name: str, namespace: str, *, ends: bool) -> str:
    """Return the command to follow the rollout, given whether `status --watch` ends at once."""
    if ends:
        return f"kubectl rollout status deployment/{name} -n {namespace}"
    return f"{PROGRAM} status {name} -n {namespace} --watch"
