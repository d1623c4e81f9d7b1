"""Commands for users: messages end with the one that helps next."""

from coxswain.kernel.objects.commands import Commands
from coxswain.webapp.identity import MANAGED_BY, WEBAPP_LABEL
from coxswain.webapp.kinds import WEBAPP
from coxswain.webapp.spec import WebApp


def edit(webapp: WebApp) -> str:
    """Return the command that changes the spec of a WebApp."""
    return Commands.of(webapp, WEBAPP, MANAGED_BY).edit


def pods_of(webapp: WebApp) -> str:
    """Return the options of kubectl that select the pods of a WebApp. Names of pods would change a message."""
    return f"-l {WEBAPP_LABEL}={webapp.name} -n {webapp.namespace}"


def describe_pods(options: str) -> str:
    """Return the command that shows pods with their Events; `options` select them."""
    return f"kubectl describe pods {options}"


def logs(options: str, *, all_containers: bool = False) -> str:
    """Return the command that shows the logs of ended containers.

    Without `--ignore-errors`, kubectl stops at the first pod whose container has not ended before. With `--container`,
    it stops in spite of that option at a pod without such a container, such as an old pod during a rollout.

    Args:
        options: the options of kubectl that select the pods.
        all_containers: show the logs of all containers with their names; otherwise only of the main one.
    """
    shown = " --all-containers --prefix" if all_containers else ""
    return f"kubectl logs --previous --ignore-errors --tail=50 {options}{shown}"
