"""`resume`: end the pause of a WebApp."""

from kubectl_coxswain.commands.pause import change
from kubectl_coxswain.session import Arguments, Session


def run(session: Session, arguments: Arguments) -> int:
    """End the pause of a WebApp."""
    return change(session, arguments, paused=False)
