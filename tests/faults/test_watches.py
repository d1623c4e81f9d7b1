"""F4, F5, F10, and row 1 of the mechanisms: what a watch tells is late, incomplete, or no longer there."""

from dataclasses import replace

import pytest

from faults.history import Mark
from faults.lives import CHANGE, CHANGED, CREATE, SPEC, life, webapp
from faults.plan import Behind, Doubled, Hide, Match, Rule
from faults.play import Played
from faults.run import Case
from faults.script import (
    REMEMBERED,
    Cut,
    Disaster,
    Kubectl,
    Lift,
    Operator,
    Program,
    Remember,
    Script,
    Settle,
    Step,
    Wait,
    apply,
    inject,
    kubectl,
    patch,
)
from faults.watching import KOPF, Opening, expired, history_of, lasted_its_time, on_watch, openings, told
from rendered import KINDS

SOON = 25.0
"""Seconds to settle. No sweep comes in these runs but for those marked with `resync`."""

RESYNCED_SECONDS = 100.0
"""Enough for a sweep to come: at the usual scale the interval is 60 s, give or take a tenth."""

UNLABEL = kubectl("label", "service", "web", "app.kubernetes.io/managed-by-")


def without_operator(*changes: Kubectl) -> Script:
    """Return steps that leave the cluster as users made it, and note its version."""
    return (Operator("stop"), *changes, Remember(), Operator("start"), Settle())


def restarted_behind(resource: str = "*") -> Script:
    """Return steps that start the operator against an API server that is behind, which then catches up."""
    rule = Rule(Match("list|watch", resource, count=None), Behind(REMEMBERED))
    return (Operator("kill"), inject(rule), Operator("start"), Wait(table=60), Lift(), Settle(SOON))


def behind(title: str, broken: str, by: str, script: Script, *marks: pytest.MarkDecorator) -> object:
    """Return what came about after the version at which the API server is behind."""
    fault = pytest.mark.fault(
        "F4",
        f"restarted, with the API server behind: {title}",
        oracles=("O1", "O2", "O3", "O5", "O6"),
        broken=broken,
        by=by,
    )
    return pytest.param((*script, *restarted_behind()), id=title, marks=[fault, *marks])


CREATED: Script = (*CREATE, Settle())
CHANGED_LATER: Script = (*CHANGE, Settle())
ANOTHER_PORT: Script = (apply(webapp({**SPEC, "ports": [{"name": "http", "containerPort": 9090}]})), Settle())
NO_SERVICE: Script = (kubectl("delete", "service", "web"), Settle())
MADE_ANEW: Script = (kubectl("delete", "webapp", "web"), Settle(), apply(webapp(CHANGED)), Settle())


@pytest.mark.parametrize(
    "script",
    [
        behind("a WebApp was changed", "applies-unasked", "O2", (*CREATED, Remember(), *CHANGED_LATER)),
        behind("children were created", "adopts-by-name", "test", without_operator(*CREATE)),
        behind(
            "children were created, and the WebApp changed",
            "adopts-by-name",
            "test",
            (*without_operator(*CREATE), *CHANGED_LATER),
        ),
        behind(
            "a drift was put right, and the WebApp changed",
            "writes-to-namesakes",
            "test",
            (*CREATED, *without_operator(UNLABEL), *ANOTHER_PORT),
        ),
        behind(
            "a child was deleted and made anew, and the WebApp changed",
            "writes-to-namesakes",
            "test",
            (*CREATED, *without_operator(UNLABEL), *NO_SERVICE, *ANOTHER_PORT),
            pytest.mark.ci,
        ),
        behind(
            "the WebApp was deleted and made anew",
            "adopts-by-name",
            "test",
            (*without_operator(*CREATE), *MADE_ANEW),
            pytest.mark.ci,
            pytest.mark.quick,
        ),
    ],
)
def test_behind(case: Case, script: Script) -> None:
    played = case(script)
    assert not _written_meanwhile(played)
    told("behind", played)


@pytest.mark.ci
@pytest.mark.fault(
    "F4",
    "restarted, with the API server behind in WebApps alone: one was changed",
    oracles=("O1", "O2", "O3", "O5", "O6"),
    broken="trusts-its-first-list",
    by="O2",
)
def test_behind_in_webapps_alone(case: Case) -> None:
    played = case((*CREATED, Remember(), *CHANGED_LATER, *restarted_behind("webapps")))
    assert not _written_meanwhile(played)
    told("behind", played)


@pytest.mark.fault(
    "F4",
    "restarted, with the API server behind: a child is deleted meanwhile",
    oracles=("O1", "O2", "O6"),
    broken="sees-no-drift",
)
def test_behind_while_a_child_is_deleted(case: Case) -> None:
    told("behind", case((*CREATE, Settle(), Remember(), kubectl("delete", "service", "web"), *restarted_behind())))


def _written_meanwhile(played: Played) -> list[str]:
    """Return what the operator wrote, other than Events, while the API server was behind."""
    history = history_of(played)
    begin, end = (_mark(history.marks, what) for what in ("faults begin", "faults end"))
    return [
        f"{request.verb} {request.resource} {request.name}: {request.body}"
        for request in history.writes(begin)
        if request.at < end and request.resource != "events" and request.status is not None and request.status < 300
    ]


def _mark(marks: list[Mark], what: str) -> float:
    return next(mark.at for mark in marks if mark.what == what)


def hidden(resource: str, first: str, until: str) -> tuple[Step, ...]:
    """Return steps that hide an event of `web` from the operator until another one."""
    return (inject(on_watch(resource, Hide("web", first, until), count=None)), Cut(resource), Wait(table=10))


@pytest.mark.ci
@pytest.mark.fault(
    "F5", "a WebApp changed and changed back: the change hidden", oracles=("O1", "O3"), broken="events-as-deltas"
)
def test_webapp_there_and_back(case: Case) -> None:
    there, back = (patch("webapp", "web", {"spec": {"replicas": replicas}}) for replicas in (5, 2))
    played = case((*CREATE, Settle(), *hidden("webapps", "MODIFIED", "MODIFIED"), there, back, Settle(SOON), Lift()))
    assert 5 not in _told_replicas(played, "webapps")
    told("there and back", played)


@pytest.mark.fault(
    "F5", "a child's field changed and changed back: the change hidden", oracles=("O1", "O3"), broken="events-as-deltas"
)
def test_child_there_and_back(case: Case) -> None:
    """The last change, which is shown, leaves both runs with the same managers: in the reference, none came through."""
    there, back, last = (patch("deployment", "web", {"spec": {"replicas": replicas}}) for replicas in (5, 2, 7))
    controllers = "kube-controller-manager"
    script: Script = (
        *(*CREATE, Settle(), *hidden("deployments", "MODIFIED", "MODIFIED")),
        *(Program(controllers, "pause"), there, back, Program(controllers, "resume")),
        *(Wait(table=20), last, Settle(SOON), Lift()),
    )
    played = case(script)
    assert 5 not in _told_replicas(played, "deployments")
    told("there and back", played)


@pytest.mark.fault(
    "F5", "a WebApp deleted and made anew: the deletion hidden", oracles=("O1", "O3"), broken="added-is-for-the-new"
)
def test_webapp_deleted_and_made_anew(case: Case) -> None:
    anew = (kubectl("delete", "webapp", "web"), apply(webapp(CHANGED)))
    told("made anew", case((*CREATE, Settle(), *hidden("webapps", "DELETED", "ADDED"), *anew, Settle(SOON), Lift())))


@pytest.mark.fault(
    "F5", "a child's deletion hidden until it is made anew", oracles=("O1", "O3"), broken="no-resync", resync=True
)
def test_child_deleted(case: Case) -> None:
    deleted = (kubectl("delete", "service", "web"), Settle(RESYNCED_SECONDS), Lift())
    told("deleted", case((*CREATE, Settle(), *hidden("services", "DELETED", "ADDED"), *deleted)))


def _told_replicas(played: Played, resource: str) -> set[int]:
    """Return the numbers of replicas that the watches of a resource told of `web`."""
    history = history_of(played)
    return {
        line.object["spec"]["replicas"]
        for line in history.lines
        if history.request(line.request).resource == resource
        and line.type in ("ADDED", "MODIFIED", "DELETED")
        and line.object["metadata"]["name"] == "web"
    }


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(
            Doubled(),
            id="doubled",
            marks=pytest.mark.fault("F5", "each event twice", oracles=("O1", "O3"), broken="counts-events"),
        ),
        pytest.param(
            Doubled(swapped=True),
            id="swapped",
            marks=pytest.mark.fault(
                "F5", "each two events swapped", oracles=("O1", "O3"), broken="no-resync", resync=True
            ),
        ),
    ],
)
def test_doubled(case: Case, action: Doubled) -> None:
    rule = Rule(Match("watch", agent=KOPF, count=None), action)
    # An event that is held for the next one to come first may wait until a sweep tells.
    timeout = RESYNCED_SECONDS if action.swapped else SOON
    patient = (replace(step, timeout=timeout) if isinstance(step, Settle) else step for step in life())
    told("doubled", case((inject(rule), Cut(), Wait(table=10), *patient, Lift())))


@pytest.mark.ci
@pytest.mark.fault(
    "F10",
    "history compacted while the operator stands still",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="no-sweep-after-a-relist",
)
def test_compaction(case: Case) -> None:
    """The API server restarts, since it serves old versions from its memory, whatever etcd has forgotten."""
    changes = (*CHANGE, kubectl("delete", "deployment", "web", "--cascade=foreground"))
    server = "kube-apiserver"
    forgotten: Script = (Program(server, "stop"), Disaster("compact"), Program(server, "start"))
    script: Script = (*CREATED, Operator("pause"), Cut(), *changes, *forgotten, Operator("resume"), Settle(SOON))
    played = case(script)
    gone = expired(history_of(played))
    assert {"webapps", "deployments"} <= set(gone), f"410 was seen only for {gone}"
    told(f"a compaction, 410 for {', '.join(gone)}", played)


@pytest.mark.fault(
    "F7",
    "watches end in time, by the server: each goes on",
    oracles=("O1", "O3", "O4"),
    broken="watches-from-now",
    by="test",
)
def test_each_watch_goes_on_from_where_it_was(case: Case) -> None:
    """Row 1: each kind is listed once and watched from there, and then from the last version that was seen.

    A change now and then keeps the WebApps' watch from being silent for so long that the operator opens it anew itself.
    """
    changes = [(patch("webapp", "web", {"spec": {"replicas": number}}), Wait(table=50)) for number in range(1, 9)]
    played = case((*life("drift"), *(step for change in changes for step in change), Settle(SOON)))
    history = history_of(played)
    assert any(lasted_its_time(request) for request in history.requests if request.resource == "webapps")
    opened = list(openings(history))
    assert {opening.resource for opening in opened} == {kind.plural for kind in KINDS.watched}
    for kind in KINDS.watched:
        mine = [opening for opening in opened if opening.resource == kind.plural]
        assert len(mine) > 1, f"no watch of {kind.plural} ended"
        assert [opening.listed for opening in mine] == [True] + [False] * (len(mine) - 1), mine
        assert [opening.version for opening in mine] == [opening.due for opening in mine], mine
        print(f"{kind.plural}: listed at {mine[0].version}, watched again from {_versions(mine)}")


def _versions(opened: list[Opening]) -> str:
    return ", ".join(opening.version for opening in opened[1:])
