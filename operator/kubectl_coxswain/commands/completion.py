"""`completion`: print the completion script of a shell."""

from kubectl_coxswain.completion import BASH, ZSH
from kubectl_coxswain.session import Arguments, Session


def run(session: Session, arguments: Arguments) -> int:
    """Print the script."""
    session.screen.raw(BASH if arguments.shell == "bash" else ZSH)
    return 0
