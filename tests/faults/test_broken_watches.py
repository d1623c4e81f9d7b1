"""F7, and row 3 of the mechanisms: each cause of a broken watch, with changes in the gap after it."""

from collections import Counter

import pytest

from cluster import ControlPlane
from fault_engine.disasters import OTHER_API_SERVER
from fault_engine.lives import CHANGE, CREATE
from fault_engine.oracles.bounds import BOUNDS
from fault_engine.plan import Action, Answer, Stream
from fault_engine.play import Played
from fault_engine.run import Case
from fault_engine.script import (
    Cut,
    Disaster,
    Life,
    Lift,
    Operator,
    Program,
    Script,
    Settle,
    Step,
    Wait,
    inject,
    kubectl,
)
from fault_engine.watching import busiest, error_event, faulty_watches, gap, history_of, on_watch, print_recovery
from faults.test_watches import RESYNCED_SECONDS

pytestmark = pytest.mark.generic

ORACLES = ("O1", "O3", "O4", "O5", "O6", "O7")
SOON = 25.0
"""Seconds to settle. No resync happens in these runs, except with the mark `resync`."""

IN_THE_FIRST_GAP: tuple[Step, ...] = (*CHANGE, kubectl("delete", "{child}", "web"))
# In the foreground, because a ReplicaSet that outlives its Deployment would block the next one's.
DELETED: tuple[Step, ...] = (kubectl("delete", "{main}", "web", "--cascade=foreground"),)
"""If the watch of parents also has a gap. The conflict of a later write would reveal the deletion."""
IN_THE_SECOND_GAP: tuple[Step, ...] = (
    Life("edit", 3),
    Wait(table=10),
    *DELETED,
)
FIRST, SECOND = ("{parents}",), ("{main}", "pods")
"""An operator without pods has no such watch."""
ALL = (*FIRST, *SECOND)


def cuts(resources: tuple[str, ...]) -> tuple[Step, ...]:
    """Return steps that make the watches reopen, so that the injected fault applies."""
    return (*(Cut(resource) for resource in resources), Wait(table=10))


def broken_in_two_gaps(action: Action) -> Script:
    """Return a life in which first the watch of parents breaks, then the watches of main children and pods."""
    script: Script = (*CREATE, Settle())
    for resources, changes in ((FIRST, IN_THE_FIRST_GAP), (SECOND, IN_THE_SECOND_GAP)):
        rules = [rule for resource in resources for rule in gap(resource, action)]
        script += (inject(*rules), *cuts(resources), *changes, Wait(table=5), Lift(), Settle(SOON))
    return script


def at_once(
    change: tuple[Step, ...], action: Action, count: int | None, *between: Step, resources: tuple[str, ...] = ALL
) -> Script:
    """Return a life in which several watches get the same fault, once or until it is lifted."""
    rules = [on_watch(resource, action, count=count) for resource in resources]
    return (*CREATE, Settle(), inject(*rules), *cuts(resources), *change, *between)


def cause(name: str, title: str, action: Action, broken: str, *marks: pytest.MarkDecorator) -> object:
    """Return a parameter for one cause of a broken watch."""
    described = pytest.mark.fault("F7", title, oracles=ORACLES, broken=broken)
    return pytest.param(action, id=name, marks=[described, *marks])


CI, QUICK = pytest.mark.ci, pytest.mark.quick


@pytest.mark.parametrize(
    "action",
    [
        cause(
            "error 410",
            "ERROR 410 in the stream: resourceVersion expired",
            Stream(inject=(error_event(410, "Expired"),), then="close"),
            "no-relist-after-a-restarted-watch",
            CI,
            QUICK,
        ),
        cause("http 410", "HTTP 410 on a watch", Answer(410), "no-new-kopf"),
        cause(
            "error 500",
            "ERROR 500 in the stream: Kopf ends",
            Stream(inject=(error_event(500, "InternalError"),), then="close"),
            "no-new-kopf",
            CI,
            QUICK,
        ),
        cause(
            "error 504",
            "ERROR 504 in the stream",
            Stream(inject=(error_event(504, "Timeout"),), then="close"),
            "no-relist-after-a-restarted-watch",
        ),
        cause(
            "truncated",
            "half a line, then the end of the stream",
            Stream(inject=('{"type":"MODIFIED","object":{"apiVersion":',), then="close"),
            "no-new-kopf",
            CI,
        ),
        cause("http 400", "HTTP 400, as for an invalid resourceVersion", Answer(400), "no-new-kopf"),
        cause("reset", "the connection is reset", Stream(then="reset"), "watches-from-now", CI),
        cause("closed", "the stream is closed at once", Stream(then="close"), "watches-from-now"),
    ],
)
def test_broken(case: Case, action: Action, request: pytest.FixtureRequest) -> None:
    played = case(broken_in_two_gaps(action))
    # The fault ends Kopf at one watch, so the others of the same gap may not get it.
    assert faulty_watches(played, "{parents}"), "no fault in the watch of parents"
    assert any(faulty_watches(played, resource) for resource in ALL if resource not in FIRST), (
        "no fault in any other watch"
    )
    print_recovery(request.node.callspec.id, played)


@pytest.mark.fault("F7", "HTTP 403 on watches for a minute", oracles=ORACLES, broken="kopf-alone")
def test_forbidden_for_a_while(case: Case) -> None:
    played = case(at_once(IN_THE_FIRST_GAP, Answer(403), None, Wait(table=60), Lift(), Settle(SOON)))
    assert faulty_watches(played, "{parents}") > 1
    print_recovery("403 for a while", played)


@pytest.mark.ci
@pytest.mark.fault(
    "F7",
    "each watch closed at once for two minutes: no hot loop",
    oracles=ORACLES,
    broken="reopens-watches-at-once",
    by="O7",
)
def test_closed_at_once_for_a_while(case: Case) -> None:
    played = case(at_once(IN_THE_SECOND_GAP, Stream(then="close"), None, Wait(table=120), Lift(), Settle(SOON)))
    most = busiest(played, "{parents}", BOUNDS.window)
    print(f"at most {most} openings of the watch of parents within {BOUNDS.window:.0f} s")
    assert most <= BOUNDS.burst
    print_recovery("closed at once for a while", played)


@pytest.mark.fault("F7", "an event of an unknown type", oracles=ORACLES, broken="fails-on-unknown-events")
def test_unknown_event(case: Case) -> None:
    unknown = Stream(inject=({"type": "SURPRISE", "object": {"kind": "Surprise", "apiVersion": "v9"}},))
    print_recovery("an unknown event", case(at_once(IN_THE_FIRST_GAP, unknown, 1, Settle(SOON), Lift())))


@pytest.mark.fault("F7", "only bookmarks, no events", oracles=ORACLES, broken="no-resync", resync=True)
def test_only_bookmarks(case: Case) -> None:
    """A resync finds the drift, and only the next one its consequences. So main children are not hidden."""
    deaf = Stream(drop=("ADDED", "MODIFIED", "DELETED"))
    until_resynced = Settle(RESYNCED_SECONDS)
    print_recovery(
        "only bookmarks",
        case(at_once(IN_THE_FIRST_GAP, deaf, None, until_resynced, Lift(), resources=("{parents}", "{child}"))),
    )


@pytest.mark.fault("F7", "no bookmarks, then the stream is reset", oracles=ORACLES, broken="watches-from-now")
def test_no_bookmarks(case: Case) -> None:
    reset = [rule for resource in ALL for rule in gap(resource, Stream(then="reset"))]
    then: tuple[Step, ...] = (Wait(table=100), inject(*reset), *cuts(ALL), *DELETED)
    script = (*at_once((), Stream(drop=("BOOKMARK",)), None), *then, Wait(table=5), Lift(), Settle(SOON))
    print_recovery("no bookmarks", case(script))


@pytest.mark.ci
@pytest.mark.fault("F7", "an open but silent connection", oracles=ORACLES, broken="ignores-silent-watches")
def test_silent(case: Case) -> None:
    played = case(at_once(IN_THE_SECOND_GAP, Stream(then="freeze"), 1, Settle(SOON), Lift()))
    print_recovery("open and silent", played)


def _written(played: Played) -> Counter[tuple[str, str, str]]:
    """Return the operator's writes of children with their number."""
    return Counter(
        (request.verb, request.resource, request.name)
        for request in history_of(played).writes()
        if request.resource != "events" and not request.resource.endswith("/status")
    )


@pytest.mark.ci
@pytest.mark.fault(
    "F7", "Kopf ends three times in one life: no write lost or repeated", oracles=(*ORACLES, "O2"),
    broken="no-new-kopf",
)  # fmt: skip
def test_kopf_ends_three_times(case: Case) -> None:
    script: Script = (*CREATE, Settle())
    for number, resource in enumerate(("{parents}", "{main}", "{child}"), start=3):
        rules = gap(resource, Stream(inject=(error_event(500, "InternalError"),), then="close"))
        change = Life("edit", number)
        script += (inject(*rules), Cut(resource), Wait(table=10), change, Wait(table=5), Lift(), Settle(SOON))
    played, reference = case(script), case.reference(script)
    assert _written(played) == _written(reference)
    print_recovery("three ends of Kopf", played)


HELD = inject(*(gap(resource, Answer(500))[1] for resource in SECOND))
"""Keeps the watches of main children and pods closed after a break, until it is lifted."""


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(
            (HELD, Program("kube-apiserver", "kill"), Program("kube-apiserver", "start"), *DELETED, Lift()),
            id="the API server restarts",
            marks=pytest.mark.fault(
                "F7",
                "the API server is killed and restarted",
                oracles=ORACLES,
                broken="no-relist-after-a-restarted-watch",
            ),
        ),
        pytest.param(
            (Operator("kill"), *IN_THE_SECOND_GAP, Operator("start")),
            id="the operator restarts",
            marks=pytest.mark.fault(
                "F7", "the operator is killed and restarted", oracles=ORACLES, broken="forgets-at-restart"
            ),
        ),
    ],
)
def test_restarts(case: Case, events: tuple[Step, ...], request: pytest.FixtureRequest) -> None:
    print_recovery(request.node.callspec.id, case((*CREATE, Settle(), *events, Settle(SOON))))


@pytest.mark.fault(
    "F7", "the operator moves to another API server of an HA pair", oracles=ORACLES, broken="watches-from-now"
)
def test_moved_to_another_api_server(case: Case, cluster: ControlPlane) -> None:
    move: tuple[Step, ...] = (HELD, Disaster("move to another API server"), *DELETED, Lift())
    try:
        played = case((*CREATE, Settle(), *move, Settle(SOON)))
    finally:
        cluster.stop_program(OTHER_API_SERVER)
    print_recovery("moved to another API server", played)
