"""Everything that a command works with: the cluster, the screen, the user and the clock."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubectl_coxswain.kubectl import Json, Kubectl
from kubectl_coxswain.problems import Problem
from kubectl_coxswain.reports import document
from kubectl_coxswain.screen import Screen

Arguments = Namespace


@dataclass
class Session:
    """One run of the plugin."""

    kubectl: Kubectl
    screen: Screen
    """The standard output."""
    notes: Screen
    """The standard error, for notes beside the result."""
    output: str
    """json, yaml, wide, or empty for text."""
    now: Callable[[], datetime]
    """The present time, in UTC."""
    clock: Callable[[], float]
    """Monotonic seconds, for timeouts."""
    sleep: Callable[[float], None]
    confirmed: Callable[[str], bool]
    """Asks the user a question."""
    stdin: Callable[[], str]
    """Reads the standard input."""

    @property
    def structured(self) -> bool:
        """Whether the output is for programs."""
        return self.output in ("json", "yaml")

    @property
    def wide(self) -> bool:
        """Whether the text has more columns."""
        return self.output == "wide"

    def show(self, kind: str, report: Any, text: Callable[[], None]) -> None:
        """Write a report for programs, or as text by `text`."""
        if not self.structured:
            text()
            return
        from kubectl_coxswain.structured import as_json, as_yaml  # noqa: PLC0415 - text does without

        value = document(kind, report)
        self.screen.raw(as_json(value) if self.output == "json" else as_yaml(value))

    def tell(self, notes: Sequence[str]) -> None:
        """Write notes to the standard error, each once; programs find them in the report."""
        for note in dict.fromkeys(notes) if not self.structured else ():
            self.warn(note)

    def warn(self, note: str) -> None:
        """Write a note that is in no report to the standard error."""
        self.notes.paragraph(note, "      ", first="note: ")

    def fail(self, problem: Problem) -> None:
        """Write a problem with its next step to the standard error."""
        write_problem(self.notes, problem)

    def agreed(self, question: str, *, yes: bool) -> bool:
        """Ask for agreement, unless the user has agreed in advance.

        Raises:
            Problem: nobody can be asked, or the output is for programs and has shown no plan.
        """
        if yes:
            return True
        if self.structured:
            raise Problem(
                f"with -o {self.output} there is no plan to agree to, so nothing was changed",
                "give --yes to agree in advance",
            )
        try:
            return self.confirmed(question)
        except EOFError:
            raise Problem(
                "nobody answers the question on the standard input", "give --yes to agree in advance"
            ) from None


def write_problem(notes: Screen, problem: Problem) -> None:
    """Write a problem with the user's next step."""
    notes.paragraph(problem.message, "       ", first="error: ")
    if problem.next_step:
        notes.paragraph(problem.next_step, "      ", first="next: ")


def each_webapp(session: Session, arguments: Arguments) -> list[Json]:
    """Return the named WebApp, or all of the namespace or of all namespaces. Raises Problem."""
    from kubectl_coxswain.find import webapp_of, webapps_of  # noqa: PLC0415 - imported on demand: the plugin starts faster

    if arguments.name:
        return [webapp_of(session.kubectl, arguments.name)]
    return webapps_of(session.kubectl, everywhere=arguments.all_namespaces)


def title(arguments: Arguments, report: Any) -> str:
    """Return the name of the WebApp of a report; among those of all namespaces with its own."""
    name: str = report.name
    return f"{report.namespace}/{name}" if arguments.all_namespaces else name


def none_found(session: Session, arguments: Arguments) -> None:
    """Write that there is no WebApp, as kubectl does."""
    where = "" if arguments.all_namespaces else f" in namespace {session.kubectl.namespace}"
    session.notes.line(f"No WebApps found{where}.")
