"""F4, F5, F10, and row 1 of the mechanisms: stale, missing and expired data from watches."""

from dataclasses import replace

import pytest

from coxswain.webapp.kinds import HTTP_ROUTE
from fault_engine.history import Mark
from fault_engine.lives import CHANGE, CREATE, life
from fault_engine.plan import Behind, Doubled, Hide, Match, Rule
from fault_engine.play import Played
from fault_engine.run import Case
from fault_engine.script import (
    REMEMBERED,
    Cut,
    Disaster,
    Kubectl,
    Life,
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
from fault_engine.watching import (
    WATCHER,
    Opening,
    expired,
    history_of,
    lasted_its_time,
    named,
    on_watch,
    openings,
    print_recovery,
)
from faults.lives import SPEC, webapp
from rendered import KINDS

SOON = 25.0
"""Seconds to settle. No resync happens in these runs, except with the mark `resync`."""

RESYNCED_SECONDS = 100.0
"""Seconds that include a resync: at the usual scale its interval is 60 s with a jitter of a tenth."""

UNLABEL = kubectl("label", "service", "web", "app.kubernetes.io/managed-by-")


def without_operator(*changes: Kubectl | Life) -> Script:
    """Return steps that change the cluster without the operator, and record its resourceVersion."""
    return (Operator("stop"), *changes, Remember(), Operator("start"), Settle())


def restarted_behind(resource: str = "*") -> Script:
    """Return steps that start the operator with a stale API server, which catches up later."""
    rule = Rule(Match("list|watch", resource, count=None), Behind(REMEMBERED))
    return (Operator("kill"), inject(rule), Operator("start"), Wait(table=60), Lift(), Settle(SOON))


def behind(title: str, broken: str, by: str, script: Script, *marks: pytest.MarkDecorator) -> object:
    """Return a parameter. Its script contains the changes that the stale API server lacks."""
    fault = pytest.mark.fault(
        "F4",
        f"restarted with a stale API server: {title}",
        oracles=("O1", "O2", "O3", "O5", "O6"),
        broken=broken,
        by=by,
    )
    return pytest.param((*script, *restarted_behind()), id=title, marks=[fault, *marks])


GENERIC = pytest.mark.generic
CREATED: Script = (*CREATE, Settle())
CHANGED_LATER: Script = (*CHANGE, Settle())
KEPT = {"rollout": {"revisionHistoryLimit": 1}}
"""The stale API server has the first revision, so it must not be deleted: the status counts it."""
ANOTHER_PORT: Script = (
    apply(webapp({**SPEC, **KEPT, "ports": [{"name": "http", "containerPort": 9090}]})),
    Settle(),
)
NO_SERVICE: Script = (kubectl("delete", "service", "web"), Settle())
RECREATED: Script = (kubectl("delete", "{parents}", "web"), Settle(), Life("recreate"), Settle())


@pytest.mark.parametrize(
    "script",
    [
        behind("a WebApp was changed", "applies-unasked", "O2", (*CREATED, Remember(), *CHANGED_LATER), GENERIC),
        behind("children were created", "adopts-by-name", "test", without_operator(*CREATE), GENERIC),
        behind(
            "children were created, and the WebApp changed",
            "adopts-by-name",
            "test",
            (*without_operator(*CREATE), *CHANGED_LATER),
            GENERIC,
        ),
        behind(
            "drift was corrected, and the WebApp changed",
            "writes-to-namesakes",
            "test",
            (*CREATED, *without_operator(UNLABEL), *ANOTHER_PORT),
        ),
        behind(
            "a child was deleted and recreated, and the WebApp changed",
            "writes-to-namesakes",
            "test",
            (*CREATED, *without_operator(UNLABEL), *NO_SERVICE, *ANOTHER_PORT),
            pytest.mark.ci,
        ),
        behind(
            "the WebApp was deleted and recreated",
            "adopts-by-name",
            "test",
            (*without_operator(*CREATE), *RECREATED),
            GENERIC,
            pytest.mark.ci,
            pytest.mark.quick,
        ),
    ],
)
def test_behind(case: Case, script: Script) -> None:
    played = case(script)
    assert not _writes_while_stale(played)
    print_recovery("stale API server", played)


@GENERIC
@pytest.mark.ci
@pytest.mark.fault(
    "F4",
    "restarted with an API server that is stale only for WebApps: one was changed",
    oracles=("O1", "O2", "O3", "O5", "O6"),
    broken="trusts-stale-cache",
    by="O2",
)
def test_behind_in_webapps_alone(case: Case) -> None:
    played = case((*CREATED, Remember(), *CHANGED_LATER, *restarted_behind("{parents}")))
    assert not _writes_while_stale(played)
    print_recovery("stale API server", played)


@GENERIC
@pytest.mark.fault(
    "F4",
    "restarted with a stale API server: a child is deleted in the meantime",
    oracles=("O1", "O2", "O6"),
    broken="sees-no-drift",
)
def test_behind_while_a_child_is_deleted(case: Case) -> None:
    print_recovery(
        "stale API server",
        case((*CREATE, Settle(), Remember(), kubectl("delete", "{child}", "web"), *restarted_behind())),
    )


def _writes_while_stale(played: Played) -> list[str]:
    """Return the operator's writes, except Events, while the API server was stale."""
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
    """Return steps that hide an event of `web` from the operator until a given later one."""
    return (inject(on_watch(resource, Hide("web", first, until), count=None)), Cut(resource), Wait(table=10))


@GENERIC
@pytest.mark.ci
@pytest.mark.fault(
    "F5", "a WebApp changed and reverted: the first event hidden", oracles=("O1", "O3"), broken="events-as-deltas"
)
def test_webapp_change_reverted(case: Case) -> None:
    there, back = (Life("edit", number) for number in (5, 2))
    played = case((*CREATE, Settle(), *hidden("{parents}", "MODIFIED", "MODIFIED"), there, back, Settle(SOON), Lift()))
    _assert_hidden(played, "{parents}")
    print_recovery("reverted", played)


@GENERIC
@pytest.mark.fault(
    "F5",
    "a child's field changed and reverted: the first event hidden",
    oracles=("O1", "O3"),
    broken="events-as-deltas",
)
def test_child_change_reverted(case: Case) -> None:
    """The last change is visible, so both runs end with the same managers. In the reference, no change is hidden."""
    there, back, last = (Life("edit main", number) for number in (5, 2, 7))
    controllers = "kube-controller-manager"
    script: Script = (
        *(*CREATE, Settle(), *hidden("{main}", "MODIFIED", "MODIFIED")),
        *(Program(controllers, "pause"), there, back, Program(controllers, "resume")),
        *(Wait(table=20), last, Settle(SOON), Lift()),
    )
    played = case(script)
    _assert_hidden(played, "{main}")
    print_recovery("reverted", played)


@GENERIC
@pytest.mark.fault(
    "F5",
    "a WebApp deleted and recreated: the deletion hidden",
    oracles=("O1", "O3"),
    broken="ignores-added-for-known-names",
)
def test_webapp_deleted_and_recreated(case: Case) -> None:
    recreated = (kubectl("delete", "{parents}", "web"), Life("recreate"))
    print_recovery(
        "recreated",
        case((*CREATE, Settle(), *hidden("{parents}", "DELETED", "ADDED"), *recreated, Settle(SOON), Lift())),
    )


@GENERIC
@pytest.mark.fault(
    "F5", "a child's deletion hidden until its recreation", oracles=("O1", "O3"), broken="no-resync", resync=True
)
def test_child_deleted(case: Case) -> None:
    deleted = (kubectl("delete", "{child}", "web"), Settle(RESYNCED_SECONDS), Lift())
    print_recovery("deleted", case((*CREATE, Settle(), *hidden("{child}", "DELETED", "ADDED"), *deleted)))


def _assert_hidden(played: Played, resource: str) -> None:
    """Assert that no watch had the second generation of `web`, the first change, but a later one."""
    history, resource = history_of(played), named(played, resource)
    generations = {
        line.object["metadata"]["generation"]
        for line in history.lines
        if history.request(line.request).resource == resource
        and line.type in ("ADDED", "MODIFIED", "DELETED")
        and line.object["metadata"]["name"] == "web"
    }
    assert 2 not in generations
    assert max(generations) > 2


@GENERIC
@pytest.mark.parametrize(
    "action",
    [
        pytest.param(
            Doubled(),
            id="doubled",
            marks=pytest.mark.fault(
                "F5", "each event twice", oracles=("O1", "O3"), broken="duplicates-count-as-deletions"
            ),
        ),
        pytest.param(
            Doubled(swapped=True),
            id="swapped",
            marks=pytest.mark.fault(
                "F5", "each pair of events swapped", oracles=("O1", "O3"), broken="no-resync", resync=True
            ),
        ),
    ],
)
def test_doubled(case: Case, action: Doubled) -> None:
    rule = Rule(Match("watch", agent=WATCHER, count=None), action)
    # An event that is held for the swap may wait until the next resync.
    timeout = RESYNCED_SECONDS if action.swapped else SOON
    patient = (replace(step, timeout=timeout) if isinstance(step, Settle) else step for step in life())
    print_recovery("doubled", case((inject(rule), Cut(), Wait(table=10), *patient, Lift())))


@GENERIC
@pytest.mark.ci
@pytest.mark.fault(
    "F10",
    "etcd compacted while the operator is paused",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="no-relist-after-a-restarted-watch",
)
def test_compaction(case: Case) -> None:
    """The API server restarts, because it serves old versions from its watch cache even after a compaction."""
    changes: Script = (*CHANGE, kubectl("delete", "{main}", "web", "--cascade=foreground"))
    server = "kube-apiserver"
    forgotten: Script = (Program(server, "stop"), Disaster("compact"), Program(server, "start"))
    script: Script = (*CREATED, Operator("pause"), Cut(), *changes, *forgotten, Operator("resume"), Settle(SOON))
    played = case(script)
    gone = expired(history_of(played))
    assert {case.workload.parent.plural, case.workload.main.plural} <= set(gone), f"only {gone} got a 410"
    print_recovery(f"a compaction, 410 for {', '.join(gone)}", played)


@pytest.mark.fault(
    "F7",
    "the server ends watches at their timeout: each continues",
    oracles=("O1", "O3", "O4"),
    broken="watches-from-now",
    by="test",
)
def test_each_watch_goes_on_from_where_it_was(case: Case) -> None:
    """Row 1: each kind is listed once and watched from there, and later watches start at the last seen version.

    An occasional change prevents the operator from reopening the WebApps' watch because of silence.
    """
    changes = [(patch("webapp", "web", {"spec": {"replicas": number}}), Wait(table=50)) for number in range(1, 9)]
    played = case((*life("drift"), *(step for change in changes for step in change), Settle(SOON)))
    history = history_of(played)
    assert any(lasted_its_time(request) for request in history.requests if request.resource == "webapps")
    opened = list(openings(history, case.workload.watch_agent))
    served = [kind for kind in KINDS.watched if kind is not HTTP_ROUTE]  # no Gateway API here
    assert {opening.resource for opening in opened} == {kind.plural for kind in served}
    for kind in served:
        mine = [opening for opening in opened if opening.resource == kind.plural]
        assert len(mine) > 1, f"no watch of {kind.plural} ended"
        assert [opening.listed for opening in mine] == [True] + [False] * (len(mine) - 1), mine
        assert [opening.version for opening in mine] == [opening.expected for opening in mine], mine
        print(f"{kind.plural}: listed at {mine[0].version}, reopened at {_versions(mine)}")


def _versions(opened: list[Opening]) -> str:
    return ", ".join(opening.version for opening in opened[1:])
