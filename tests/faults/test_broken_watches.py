"""F7, and row 3 of the mechanisms: each cause of a broken watch, with changes in the gap that it leaves."""

from collections import Counter

import pytest

from cluster import ControlPlane
from faults.disasters import OTHER_API_SERVER
from faults.lives import CHANGE, CREATE
from faults.oracles.bounds import BOUNDS
from faults.plan import Action, Answer, Stream
from faults.play import Played
from faults.run import Case
from faults.script import (
    Cut,
    Disaster,
    Lift,
    Operator,
    Program,
    Script,
    Settle,
    Step,
    Wait,
    inject,
    kubectl,
    patch,
)
from faults.test_watches import RESYNCED_SECONDS
from faults.watching import busiest, error_event, gap, history_of, met, on_watch, told

ORACLES = ("O1", "O3", "O4", "O5", "O6", "O7")
SOON = 25.0
"""Seconds to settle. No sweep comes in these runs but for those marked with `resync`."""

IN_THE_FIRST_GAP: tuple[Step, ...] = (*CHANGE, kubectl("delete", "service", "web"))
# In the foreground: a ReplicaSet that outlived its Deployment would be in the way of the next one's.
DELETED: tuple[Step, ...] = (kubectl("delete", "deployment", "web", "--cascade=foreground"),)
"""Where the watch of WebApps has a gap too: the conflict of a later write would tell of the deletion."""
IN_THE_SECOND_GAP: tuple[Step, ...] = (
    patch("webapp", "web", {"spec": {"replicas": 3}}),
    Wait(table=10),
    *DELETED,
)
FIRST, SECOND = ("webapps",), ("deployments", "pods")
ALL = (*FIRST, *SECOND)


def cuts(resources: tuple[str, ...]) -> tuple[Step, ...]:
    """Return steps that make watches open anew, and meet with what was injected."""
    return (*(Cut(resource) for resource in resources), Wait(table=10))


def broken_in_two_gaps(action: Action) -> Script:
    """Return a life in which the WebApps' watch breaks, then those of Deployments and pods."""
    script: Script = (*CREATE, Settle())
    for resources, changes in ((FIRST, IN_THE_FIRST_GAP), (SECOND, IN_THE_SECOND_GAP)):
        rules = [rule for resource in resources for rule in gap(resource, action)]
        script += (inject(*rules), *cuts(resources), *changes, Wait(table=5), Lift(), Settle(SOON))
    return script


def at_once(
    change: tuple[Step, ...], action: Action, count: int | None, *between: Step, resources: tuple[str, ...] = ALL
) -> Script:
    """Return a life in which several watches meet with the same, once or until it is lifted."""
    rules = [on_watch(resource, action, count=count) for resource in resources]
    return (*CREATE, Settle(), inject(*rules), *cuts(resources), *change, *between)


def cause(name: str, title: str, action: Action, broken: str, *marks: pytest.MarkDecorator) -> object:
    """Return one way in which a watch breaks."""
    described = pytest.mark.fault("F7", title, oracles=ORACLES, broken=broken)
    return pytest.param(action, id=name, marks=[described, *marks])


CI, QUICK = pytest.mark.ci, pytest.mark.quick


@pytest.mark.parametrize(
    "action",
    [
        cause(
            "error 410",
            "ERROR 410 in the stream: the version is gone",
            Stream(inject=(error_event(410, "Expired"),), then="close"),
            "no-sweep-after-a-relist",
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
            "no-sweep-after-a-relist",
        ),
        cause(
            "truncated",
            "half a line, and then the end of the stream",
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
    # What ends Kopf at one watch spares the others of the same gap.
    assert met(played, "webapps"), "the watch of WebApps met with nothing"
    assert any(met(played, resource) for resource in ALL if resource != "webapps"), "no other watch met with anything"
    told(request.node.callspec.id, played)


@pytest.mark.fault("F7", "HTTP 403 on watches for a minute", oracles=ORACLES, broken="kopf-alone")
def test_forbidden_for_a_while(case: Case) -> None:
    played = case(at_once(IN_THE_FIRST_GAP, Answer(403), None, Wait(table=60), Lift(), Settle(SOON)))
    assert met(played, "webapps") > 1
    told("403 for a while", played)


@pytest.mark.ci
@pytest.mark.fault(
    "F7", "each watch closed at once for two minutes: no hot loop", oracles=ORACLES, broken="no-pace", by="O7"
)
def test_closed_at_once_for_a_while(case: Case) -> None:
    played = case(at_once(IN_THE_SECOND_GAP, Stream(then="close"), None, Wait(table=120), Lift(), Settle(SOON)))
    most = busiest(played, "webapps", BOUNDS.window)
    print(f"the WebApps' watch was opened {most} times within {BOUNDS.window:.0f} s at most")
    assert most <= BOUNDS.burst
    told("closed at once for a while", played)


@pytest.mark.fault("F7", "an event of an unknown type", oracles=ORACLES, broken="afraid-of-the-unknown")
def test_unknown_event(case: Case) -> None:
    unknown = Stream(inject=({"type": "SURPRISE", "object": {"kind": "Surprise", "apiVersion": "v9"}},))
    told("an unknown event", case(at_once(IN_THE_FIRST_GAP, unknown, 1, Settle(SOON), Lift())))


@pytest.mark.fault("F7", "only bookmarks: no event comes through", oracles=ORACLES, broken="no-resync", resync=True)
def test_only_bookmarks(case: Case) -> None:
    """A sweep brings what it finds; what comes of that later, only the next one: so Deployments are not hidden."""
    deaf = Stream(drop=("ADDED", "MODIFIED", "DELETED"))
    until_swept = Settle(RESYNCED_SECONDS)
    told(
        "only bookmarks",
        case(at_once(IN_THE_FIRST_GAP, deaf, None, until_swept, Lift(), resources=("webapps", "services"))),
    )


@pytest.mark.fault("F7", "no bookmarks, and then the stream is reset", oracles=ORACLES, broken="watches-from-now")
def test_no_bookmarks(case: Case) -> None:
    reset = [rule for resource in ALL for rule in gap(resource, Stream(then="reset"))]
    then: tuple[Step, ...] = (Wait(table=100), inject(*reset), *cuts(ALL), *DELETED)
    script = (*at_once((), Stream(drop=("BOOKMARK",)), None), *then, Wait(table=5), Lift(), Settle(SOON))
    told("no bookmarks", case(script))


@pytest.mark.ci
@pytest.mark.fault("F7", "a connection that is open and silent", oracles=ORACLES, broken="deaf-to-silence")
def test_silent(case: Case) -> None:
    played = case(at_once(IN_THE_SECOND_GAP, Stream(then="freeze"), 1, Settle(SOON), Lift()))
    told("open and silent", played)


def _written(played: Played) -> Counter[tuple[str, str, str]]:
    """Return the operator's writes of children, each with how often it came."""
    return Counter(
        (request.verb, request.resource, request.name)
        for request in history_of(played).writes()
        if request.resource not in ("events", "webapps/status")
    )


@pytest.mark.ci
@pytest.mark.fault(
    "F7", "Kopf ends three times in one life: nothing lost, nothing doubled", oracles=(*ORACLES, "O2"),
    broken="no-new-kopf",
)  # fmt: skip
def test_three_deaths(case: Case) -> None:
    script: Script = (*CREATE, Settle())
    for replicas, resource in enumerate(("webapps", "deployments", "services"), start=3):
        rules = gap(resource, Stream(inject=(error_event(500, "InternalError"),), then="close"))
        change = patch("webapp", "web", {"spec": {"replicas": replicas}})
        script += (inject(*rules), Cut(resource), Wait(table=10), change, Wait(table=5), Lift(), Settle(SOON))
    played, reference = case(script), case.reference(script)
    assert _written(played) == _written(reference)
    told("three deaths", played)


HELD = inject(*(gap(resource, Answer(500))[1] for resource in SECOND))
"""Until it is lifted, the watches of Deployments and pods, once broken, are not opened again."""


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(
            (HELD, Program("kube-apiserver", "kill"), Program("kube-apiserver", "start"), *DELETED, Lift()),
            id="the API server restarts",
            marks=pytest.mark.fault(
                "F7", "the API server is killed and comes back", oracles=ORACLES, broken="no-sweep-after-a-relist"
            ),
        ),
        pytest.param(
            (Operator("kill"), *IN_THE_SECOND_GAP, Operator("start")),
            id="the operator restarts",
            marks=pytest.mark.fault(
                "F7", "the operator is killed and started again", oracles=ORACLES, broken="forgets-at-restart"
            ),
        ),
    ],
)
def test_restarts(case: Case, events: tuple[Step, ...], request: pytest.FixtureRequest) -> None:
    told(request.node.callspec.id, case((*CREATE, Settle(), *events, Settle(SOON))))


@pytest.mark.fault("F7", "moved to another API server of an HA pair", oracles=ORACLES, broken="watches-from-now")
def test_moved_to_another_api_server(case: Case, cluster: ControlPlane) -> None:
    move: tuple[Step, ...] = (HELD, Disaster("move to another API server"), *DELETED, Lift())
    try:
        played = case((*CREATE, Settle(), *move, Settle(SOON)))
    finally:
        cluster.stop_program(OTHER_API_SERVER)
    told("moved to another API server", played)
