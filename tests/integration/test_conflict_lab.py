"""A small run of the conflict lab on a real API server: results that hold on any machine, for each write method."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping

import pytest

from cluster import ControlPlane
from cluster.clients import direct_session
from cluster.progress import silent
from conflict_lab.results import Case, Results, Verdict
from conflict_lab.run import install, run, run_on_status, this_machine
from conflict_lab.subject import STATUS, TEMPLATE, Subject, Thing, version
from conflict_lab.ways import JSON, JSON_PATCH, STRATEGIC_MERGE_PATCH, WAYS, Change, Request, Workload, accepted, named
from conflict_lab.writers import Target, targets

pytestmark = pytest.mark.semantics

NAMESPACE = "conflict-lab"
STATUS_NAMESPACE = "conflict-lab-status"
SECONDS = 0.1
SHARED, OWN = Workload.SHARED, Workload.OWN
OWN_ENTRIES = {"json-patch", "json-patch-value", "strategic", "apply", "apply-force"}

_KEPT, _REFUSED, _LOST, _ASTRAY = Verdict.KEPT, Verdict.REFUSED, Verdict.LOST, Verdict.ASTRAY
_STALE = ((409, _REFUSED),) * 4
_TESTED = ((422, _REFUSED),) * 4
_OVERWRITTEN = ((200, _LOST),) * 4
_BY_KEY = ((200, _LOST), (200, _LOST), (200, _KEPT), (200, _KEPT))
MEETINGS: Mapping[str, tuple[tuple[int, Verdict], ...]] = {
    "put-version": _STALE,
    "put": _OVERWRITTEN,
    "json-patch": ((200, _LOST), (200, _LOST), (200, _KEPT), (200, _ASTRAY)),
    "json-patch-version": _TESTED,
    "json-patch-value": ((422, _REFUSED), (422, _REFUSED), (200, _KEPT), (422, _REFUSED)),
    "merge-patch": _OVERWRITTEN,
    "merge-patch-version": _STALE,
    "strategic": _BY_KEY,
    "apply": ((409, _REFUSED), *_BY_KEY[1:]),
    "apply-force": _BY_KEY,
    "apply-force-version": _STALE,
}
"""The response to a writer with an outdated read, and the effect on the object, for each case."""


STATUS_MEETINGS = {**MEETINGS, "strategic": ((415, _REFUSED),) * 4, "put": ((422, _REFUSED),) * 4}


@pytest.fixture(scope="module")
def status_results(cluster: ControlPlane) -> Iterator[Results]:
    """Return a run on the status of a custom resource, with one writer and with four."""
    cluster.kubectl("create", "namespace", STATUS_NAMESPACE)
    machine = this_machine(SECONDS)
    yield asyncio.run(run_on_status(cluster, STATUS_NAMESPACE, machine, silent, counts=(1, 4)))
    cluster.kubectl("delete", "namespace", STATUS_NAMESPACE, "--wait=false")


@pytest.fixture(scope="module")
def results(cluster: ControlPlane) -> Iterator[Results]:
    cluster.kubectl("create", "namespace", NAMESPACE)
    yield asyncio.run(run(cluster, NAMESPACE, this_machine(SECONDS), silent, counts=(1, 4)))
    cluster.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.mark.parametrize("way", MEETINGS)
def test_two_writers_that_both_read_before_either_wrote(results: Results, way: str) -> None:
    meetings = [results.meeting(way, case) for case in Case]
    assert tuple((each.status, each.verdict) for each in meetings) == MEETINGS[way]


@pytest.mark.parametrize("way", STATUS_MEETINGS)
def test_two_writers_of_a_status(status_results: Results, way: str) -> None:
    meetings = [status_results.meeting(way, case) for case in Case]
    assert tuple((each.status, each.verdict) for each in meetings) == STATUS_MEETINGS[way]


def test_writers_of_a_status_lose_updates_as_writers_of_any_object_do(status_results: Results) -> None:
    assert {cell.way for cell in status_results.cells} == set(MEETINGS) - {"strategic", "put"}
    for cell in status_results.cells:
        assert cell.acknowledged > 0, cell
        safe = named(cell.way).guarded or (cell.workload is OWN and cell.way in OWN_ENTRIES)
        if cell.writers == 1 or (safe and cell.way != "apply") or (cell.way, cell.workload) == ("apply", OWN):
            assert cell.lost == 0, cell
        if not safe:
            assert cell.refused == 0, cell


def test_only_the_conflict_over_a_field_has_causes(results: Results) -> None:
    refused = {(each.way, each.reason, each.causes) for each in results.meetings if each.status == 409}
    assert refused == {
        ("put-version", "Conflict", ()),
        ("merge-patch-version", "Conflict", ()),
        ("apply", "Conflict", ("FieldManagerConflict",)),
        ("apply-force-version", "Conflict", ()),
    }


@pytest.mark.parametrize("way", [way.name for way in WAYS if way.guarded and way.name != "apply"])
@pytest.mark.parametrize("workload", Workload)
def test_an_update_that_the_server_can_refuse_is_not_lost(results: Results, way: str, workload: Workload) -> None:
    for cell in results.of(way, workload):
        assert (cell.lost, cell.timeouts) == (0, 0)
        assert cell.acknowledged > 0


@pytest.mark.parametrize("way", sorted(OWN_ENTRIES))
def test_who_names_its_own_entry_alone_is_never_refused_and_loses_nothing(results: Results, way: str) -> None:
    for cell in results.of(way, OWN):
        assert (cell.lost, cell.refused) == (0, 0)
        assert cell.acknowledged == cell.writes > 0


def test_one_writer_is_never_refused_and_loses_nothing(results: Results) -> None:
    alone = [cell for cell in results.cells if cell.writers == 1]
    assert len(alone) == len(WAYS) * len(Workload)
    assert {(cell.lost, cell.refused, cell.shut_out) for cell in alone} == {(0, 0, 0)}


def test_a_stale_version_is_409_and_a_failed_test_is_422(results: Results) -> None:
    for cell in results.cells:
        tests = cell.way in ("json-patch-version", "json-patch-value")
        assert cell.refused == (cell.unprocessable if tests else cell.conflicts), cell
        assert cell.with_causes == (cell.conflicts if cell.way == "apply" else 0), cell
        assert cell.writes == cell.acknowledged + cell.refused, cell
        assert cell.refused == 0 or named(cell.way).guarded, cell


def on_a_target(
    cluster: ControlPlane, namespace: str, act: Callable[[Target], Awaitable[None]], subject: Subject = TEMPLATE
) -> None:
    """Do something with one object, whose counter is WRITER_0's."""

    async def with_target() -> None:
        async with targets(cluster, namespace, subject) as made:
            await act(await made.make("WRITER_0"))

    asyncio.run(with_target())


def counting(seen: Thing, way: str, add: int) -> Request:
    """Return the request that increments the counter."""
    return named(way).request(seen, Change(SHARED, "", add))


def test_a_conflict_over_a_field_names_the_field_and_its_manager(cluster: ControlPlane, namespace: str) -> None:
    async def act(target: Target) -> None:
        answer = await target.send(counting(await target.get(), "apply", 1), "WRITER_1")
        (cause,) = answer.body["details"]["causes"]
        assert (answer.status, cause["reason"]) == (409, "FieldManagerConflict")
        assert cause["field"] == ".metadata.annotations.counter"
        assert '"WRITER_0"' in cause["message"]

    on_a_target(cluster, namespace, act)


def test_equal_values_make_two_owners_of_whom_neither_can_change_it_without_force(
    cluster: ControlPlane, namespace: str
) -> None:
    async def act(target: Target) -> None:
        seen = await target.get()
        for writer in ("WRITER_0", "WRITER_1"):
            assert (await target.send(counting(seen, "apply", 1), writer)).status == 200
        for writer in ("WRITER_0", "WRITER_1"):
            assert (await target.send(counting(seen, "apply", 2), writer)).causes == ("FieldManagerConflict",)
        assert TEMPLATE.counter(await target.get()) == 1
        assert (await target.send(counting(seen, "apply-force", 2), "WRITER_1")).status == 200
        assert TEMPLATE.counter(await target.get()) == 2

    on_a_target(cluster, namespace, act)


def test_a_failed_test_is_answered_like_an_invalid_patch(cluster: ControlPlane, namespace: str) -> None:
    async def act(target: Target) -> None:
        seen = await target.get()
        await target.send_accepted(counting(seen, "put-version", 1), "WRITER_0")
        tested = await target.send(counting(seen, "json-patch-version", 1), "WRITER_1")
        nonsense = await target.send(Request(JSON_PATCH, [{"op": "remove", "path": "/absent"}]), "WRITER_1")
        assert (tested.status, tested.reason, tested.causes) == (422, "Invalid", ())
        assert tested == nonsense

    on_a_target(cluster, namespace, act)


def test_an_update_that_changes_nothing_is_accepted_and_not_stored(cluster: ControlPlane, namespace: str) -> None:
    async def act(target: Target) -> None:
        seen = await target.get()
        for way in ("put", "json-patch", "merge-patch", "strategic"):
            assert (await target.send(counting(seen, way, 0), "WRITER_0")).status == 200
            assert version(await target.get()) == version(seen)

    on_a_target(cluster, namespace, act)


def test_strategic_merge_patch_is_for_built_in_kinds_alone(cluster: ControlPlane, namespace: str) -> None:
    with direct_session(cluster.ca_file, cluster.token) as session:
        url = f"{cluster.url}/apis/coxswain.dev/v1/namespaces/{namespace}/webapps/absent"
        answer = session.patch(url, data="{}", headers={"Content-Type": STRATEGIC_MERGE_PATCH})
    assert (answer.status_code, answer.json()["reason"]) == (415, "UnsupportedMediaType")


def wish(cluster: ControlPlane, namespace: str, target: Target, value: str) -> None:
    """Change the spec of a custom resource of the lab."""
    body = json.dumps({"spec": {"wish": value}})
    cluster.kubectl("patch", "targets", target.name, "-n", namespace, "--type=merge", "-p", body)


def test_a_put_to_a_custom_resource_needs_a_resourceversion(cluster: ControlPlane, namespace: str) -> None:
    install(cluster)

    async def act(target: Target) -> None:
        answer = await target.send(named("put").request(await target.get(), Change(SHARED, "", subject=STATUS)), "A")
        assert (answer.status, answer.reason) == (422, "Invalid")
        (cause,) = answer.body["details"]["causes"]
        assert (cause["field"], cause["message"]) == (
            "metadata.resourceVersion",
            "Invalid value: 0: must be specified for an update",
        )

    on_a_target(cluster, namespace, act, STATUS)


GUARDED_STATUS_WRITES = [way.name for way in WAYS if way.name.endswith("-version")]


def test_a_status_from_an_old_spec_is_refused_only_with_its_resourceversion(
    cluster: ControlPlane, namespace: str
) -> None:
    install(cluster)

    async def act(target: Target) -> None:
        for number, way in enumerate(way.name for way in accepted(STATUS) if way.name != "apply"):
            seen = await target.get()
            wish(cluster, namespace, target, f"number {number}")
            answer = await target.send(named(way).request(seen, Change(SHARED, "", subject=STATUS)), "WRITER_0")
            assert answer.accepted == (way not in GUARDED_STATUS_WRITES), way
            found = await target.get()
            assert found["spec"] == {"wish": f"number {number}"}
            assert STATUS.counter(found) == STATUS.counter(seen) + answer.accepted, way

    on_a_target(cluster, namespace, act, STATUS)


def test_a_status_write_changes_nothing_but_the_status(cluster: ControlPlane, namespace: str) -> None:
    install(cluster)

    async def act(target: Target) -> None:
        wish(cluster, namespace, target, "mine")
        seen = await target.get()
        other = STATUS.with_counter(seen, 5)
        other["spec"] = {"wish": "another"}
        other["metadata"]["labels"] = {"another": "label"}
        await target.send_accepted(Request(JSON, other, method="PUT"), "WRITER_1")
        found = await target.get()
        assert (found["spec"], STATUS.counter(found)) == (seen["spec"], 5)
        assert "labels" not in found["metadata"]
        assert found["metadata"]["generation"] == seen["metadata"]["generation"]

    on_a_target(cluster, namespace, act, STATUS)
