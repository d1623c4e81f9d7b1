"""`pause`: let the operator write only the status of a WebApp."""

from kubectl_coxswain.arguments import PROGRAM
from kubectl_coxswain.changing import set_paused, warning_of
from kubectl_coxswain.find import webapp_of
from kubectl_coxswain.reports import Done
from kubectl_coxswain.session import Arguments, Session
from kubectl_coxswain.verdict import deletion, is_paused


def run(session: Session, arguments: Arguments) -> int:
    """Pause a WebApp."""
    return change(session, arguments, paused=True)


def change(session: Session, arguments: Arguments, *, paused: bool) -> int:
    """Pause a WebApp, or end its pause."""
    webapp = webapp_of(session.kubectl, arguments.name)
    metadata, before = webapp["metadata"], is_paused(webapp)
    word = "paused" if paused else "resumed"
    if before != paused:
        set_paused(session.kubectl, webapp, paused=paused)
    done = Done(
        metadata["namespace"],
        metadata["name"],
        word if before != paused else "was paused already" if paused else "was not paused",
        [*deletion(webapp), *(warning_of(webapp) if before != paused else [])],
    )
    session.show("Done", done, lambda: session.screen.line(f"WebApp {done.name} {done.done}."))
    session.tell(done.notes)
    if paused and before != paused:
        session.tell([f"to resume it: {PROGRAM} resume {done.name} -n {done.namespace}"])
    return 0
