"""Commands for users: messages end with the one that helps next."""

from coxswain.kernel.objects.commands import Commands
from coxswain.webapp.identity import WEBAPP_LABEL
from coxswain.webapp.kinds import WEBAPP
from coxswain.webapp.spec import WebApp


def edit(webapp: WebApp) -> str:
    """Return the command that changes the spec of a WebApp."""
    return Commands.of(webapp, WEBAPP).edit


def pods_of(webapp: WebApp) -> str:
    """Return the options of kubectl that select the pods of a WebApp. Names of pods would change a message."""
    return f"-l {WEBAPP_LABEL}={webapp.name} -n {webapp.namespace}"


def describe_pods(options: str) -> str:
    """Return the command that shows pods with their Events; `options` select them."""
    return f"kubectl describe pods {options}"


def logs(options: str, container: str = "") -> str:
    """Return the command that shows the log of an ended container.

    Pods without such a container are among the selected ones, and kubectl would stop at the first of them.
    """
    return f"kubectl logs --previous --ignore-errors --tail=50 {options}" + (
        f" --container={container}" if container else ""
    )
