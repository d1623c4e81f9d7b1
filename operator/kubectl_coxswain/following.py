"""`status --watch`: follows a rollout to its end."""

import io
from collections.abc import Sequence
from dataclasses import replace

from kubectl_coxswain.canvas import Canvas
from kubectl_coxswain.find import webapp_of
from kubectl_coxswain.kubectl import Json, Kubectl
from kubectl_coxswain.names import DEPLOYMENT, HORIZONTAL_POD_AUTOSCALER
from kubectl_coxswain.owned import read
from kubectl_coxswain.problems import Forbidden, NotFound, Problem, Unavailable
from kubectl_coxswain.replicas import Scales, counts_text
from kubectl_coxswain.reports import Verdict
from kubectl_coxswain.screen import Screen
from kubectl_coxswain.session import Arguments, Session
from kubectl_coxswain.status_text import report_of, with_tree, write_status
from kubectl_coxswain.verdict import FINAL, verdict

_LAST_LOOK = 2.0
"""Seconds for a run of kubectl that starts just before the end."""


def follow(session: Session, arguments: Arguments) -> int:
    """Follow one WebApp until its rollout is finished or has failed, or until the timeout.

    Raises:
        Problem: the rollout has failed, the time is over, or another try cannot succeed.
    """
    end = session.clock() + arguments.timeout
    kubectl = session.kubectl.bounded(lambda: max(_LAST_LOOK, end - session.clock()))
    session = replace(session, kubectl=kubectl)
    view = View(session)
    while True:
        try:
            webapp = webapp_of(session.kubectl, arguments.name)
            view.show(webapp)
            found = verdict(webapp)
            if found.state in FINAL and not (found.state == "Healthy" and _rolls_out(session.kubectl, webapp)):
                return _ended(session, arguments, found.state, found.message)
            late = _late(session, arguments, found)
        except Unavailable as problem:
            view.show_outage(problem)
            late = problem
        if session.clock() >= end:
            raise late
        session.sleep(arguments.interval)


class View:
    """The state of the WebApp: drawn over the one before in a terminal that can, elsewhere a line for each change."""

    def __init__(self, session: Session) -> None:
        """Show it in this session."""
        self._session = session
        self._version = ""
        self._outage = ""
        self._drawn = ""
        self._told: set[str] = set()
        self._canvas = Canvas(session.screen) if session.screen.redraws and not session.structured else None

    def show(self, webapp: Json) -> None:
        """Show the present state, or an outage if its objects cannot be read at present."""
        try:
            self._show(webapp)
        except Unavailable as problem:
            self.show_outage(problem)
        else:
            self._outage = ""

    def _show(self, webapp: Json) -> None:
        if self._canvas is not None:
            self._drawn = self._text(webapp)
            self._canvas.draw(self._drawn)
        elif webapp["metadata"]["resourceVersion"] != self._version:
            self._tell(_write_change(self._session, webapp))
            self._version = webapp["metadata"]["resourceVersion"]

    def show_outage(self, problem: Problem) -> None:
        """Show that there was no answer, beside the last known state; elsewhere once."""
        note = f"no answer at present, trying again: {problem.message}"
        if self._canvas is not None:
            text, screen = self._draft()
            screen.paragraph(note, "      ", first="note: ")
            self._canvas.draw(text.getvalue() + self._drawn)
        elif note != self._outage:
            self._outage = note
            self._session.notes.paragraph(note, "      ", first="note: ")

    def _tell(self, notes: Sequence[str]) -> None:
        """Print each note about unreadable objects once."""
        self._session.tell([note for note in notes if note not in self._told])
        self._told.update(notes)

    def _text(self, webapp: Json) -> str:
        text, screen = self._draft()
        report = with_tree(self._session, webapp)
        write_status(replace(self._session, screen=screen), report)
        for note in report.notes:
            screen.paragraph(note, "      ", first="note: ")
        return text.getvalue()

    def _draft(self) -> tuple[io.StringIO, Screen]:
        """Return a text of the present width, and its screen."""
        self._session.screen.measure()
        text = io.StringIO()
        return text, self._session.screen.onto(text)


def _write_change(session: Session, webapp: Json) -> Sequence[str]:
    """Write the present state, and return notes about unreadable objects. Raises Problem."""
    objects, notes = read(session.kubectl, webapp, (DEPLOYMENT,), unlabelled=(HORIZONTAL_POD_AUTOSCALER,))
    report = report_of(webapp, Scales(objects))._replace(notes=notes)
    if session.output == "json":
        import json  # noqa: PLC0415 - imported on demand: the plugin starts faster

        from kubectl_coxswain.reports import document  # noqa: PLC0415 - imported on demand: the plugin starts faster

        session.screen.raw(json.dumps(document("Status", report)) + "\n")
    else:
        found = report.verdict
        session.screen.line(f"{found.state} ({found.reason}), {counts_text(report.replicas)}: {found.message}")
    session.screen.flush()
    return notes


def _rolls_out(kubectl: Kubectl, webapp: Json) -> bool:
    """Tell whether the Deployment is ahead of the status: after `kubectl rollout restart` the WebApp is unchanged.

    The rollout is finished when it is for `kubectl rollout status`.
    """
    metadata = webapp["metadata"]
    try:
        deployment = kubectl.one(DEPLOYMENT, metadata["name"], metadata["namespace"])
    except (Forbidden, NotFound):
        return False
    spec, status = deployment.get("spec") or {}, deployment.get("status") or {}
    observed = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    updated = status.get("updatedReplicas", 0)
    replaced = spec.get("replicas", 1) <= updated and status.get("replicas", 0) <= updated
    return not (observed and replaced and status.get("availableReplicas", 0) >= updated)


def _late(session: Session, arguments: Arguments, found: Verdict) -> Problem:
    name, namespace = arguments.name, session.kubectl.namespace
    if found.state == "Healthy":
        text = f"the Deployment of {name} still rolls out after {arguments.timeout:g} s"
        return Problem(text, f"kubectl coxswain tree {name} -n {namespace}")
    text = f"{name} is still {found.state} after {arguments.timeout:g} s: {found.message}"
    return Problem(text, f"kubectl coxswain why {name} -n {namespace}")


def _ended(session: Session, arguments: Arguments, state: str, message: str) -> int:
    if state == "Healthy":
        return 0
    name, namespace = arguments.name, session.kubectl.namespace
    if state == "Paused":
        raise Problem(
            f"{name} is paused, so no rollout ends: {message}", f"kubectl coxswain resume {name} -n {namespace}"
        )
    if state == "Terminating":
        raise NotFound(f"{name} is being deleted", "")
    raise Problem(f"{name} is {state}: {message}", f"kubectl coxswain why {name} -n {namespace}")
