"""Reports of several WebApps: the problem of one leaves the others their report."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kubectl_coxswain.problems import NotLoggedIn, Problem, Unavailable

W = TypeVar("W")
R = TypeVar("R")


def report_each(webapps: Sequence[W], report: Callable[[W], R]) -> tuple[list[R], list[Problem]]:
    """Return the reports of some WebApps, and the problems of the others.

    Raises:
        Problem: there is no other WebApp, or the problem is that of the cluster, which each one would meet.
    """
    reports: list[R] = []
    problems: list[Problem] = []
    for webapp in webapps:
        try:
            reports.append(report(webapp))
        except (Unavailable, NotLoggedIn):
            raise
        except Problem as problem:
            if len(webapps) == 1:
                raise
            problems.append(problem)
    return reports, problems
