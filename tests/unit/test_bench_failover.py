"""The figures of B8, from the edits and the audit log."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bench.aims import verdicts
from bench.failover import of_edits, of_requests
from bench.results import COXSWAIN, Machine, Measured, Results
from cluster.audit import AuditEvent, parse_event

FAULT = 1000.0
OLD, NEW = "JTI=old", "JTI=new"


def at(seconds: float) -> str:
    """Return a time relative to the fault."""
    return datetime.fromtimestamp(FAULT + seconds, UTC).isoformat()


def event(
    seconds: float, credential: str, resource: str = "leases", verb: str = "update", code: int = 200
) -> AuditEvent:
    place = ("", "shop", "web")
    return AuditEvent("coxswain", "", verb, resource, *place, code, "", "", at(seconds), credential=credential)


def test_the_next_edit_is_the_first_one_after_the_fault() -> None:
    edits = [(990.0, 990.5), (999.5, 1014.0), (1000.5, 1013.0), (1001.5, 1014.5), (1002.5, None)]
    assert of_edits(edits, FAULT) == {"next edit": 13.0, "slowest edit": 14.5, "edits": 5, "lost": 1}


def test_without_a_written_edit_there_is_no_time() -> None:
    assert of_edits([(990.0, 991.0), (1001.0, None)], FAULT) == {"slowest edit": 1.0, "edits": 2, "lost": 1}


def test_a_write_of_the_old_leader_after_the_takeover_is_counted() -> None:
    before = [event(-4.0, OLD), event(-2.0, OLD), event(-1.0, OLD, "deployments", "patch")]
    waiting = [event(1.0, NEW, verb="get"), event(12.0, NEW, code=409)]
    after = [event(14.0, NEW), event(15.0, NEW, "deployments", "patch"), event(16.0, NEW)]
    assert of_requests([*before, *waiting, *after], FAULT) == {"takeover": 14.0, "writes of the old leader": 0}
    late = [
        event(13.0, OLD, "services", "patch"),
        event(61.0, OLD, "deployments", "patch"),
        event(61.0, OLD, verb="get"),
    ]
    assert of_requests([*before, *waiting, *after, *late], FAULT)["writes of the old leader"] == 1


def test_without_a_takeover_there_are_no_figures() -> None:
    assert of_requests([event(-2.0, OLD), event(1.0, OLD)], FAULT) == {}


@pytest.mark.parametrize(
    ("case", "seconds", "met"), [("SIGTERM", 2.9, "yes"), ("SIGTERM", 3.1, "**no**"), ("SIGKILL", 16.9, "yes")]
)
def test_the_next_edit_has_a_bound_of_each_case(case: str, seconds: float, met: str) -> None:
    one = Measured("B8", COXSWAIN, 200, 1, case, {"next edit": seconds})
    assert row(one) == f"| {case}: {seconds:.{2 if seconds < 10 else 1}f} | {met} |"
    assert row(one, replace(one, round=2, figures={})) == f"| {case}: never | **no** |"


def row(*measured: Measured) -> str:
    """Return the figures and the verdict of the next edit."""
    machine = Machine("2026-11-30", "1.36", 2, "3.11", 0.0)
    [found] = [line for line in verdicts(Results(machine, measured)).splitlines() if "next edit" in line]
    return found[found.index("SIGSTOP") + len("SIGSTOP ") :]


def test_an_event_has_the_token_of_its_user() -> None:
    extra = '{"authentication.kubernetes.io/credential-id": ["JTI=old"]}'
    line = '{"kind": "Event", "user": {"username": "system:serviceaccount:a:b", "extra": %s}}'
    assert parse_event(line % extra).credential == OLD
    assert parse_event(line % "{}").credential == ""
