"""Foreign objects with nulls, gaps and odd texts: a reconcile raises nothing, and its status is valid."""

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coxswain.kernel.objects.field_paths import Path, minus_path, plus
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.diagnosis.pods import diagnosis
from coxswain.webapp.kinds import (
    DEPLOYMENT,
    HORIZONTAL_POD_AUTOSCALER,
    POD,
    POD_DISRUPTION_BUDGET,
    REPLICA_SET,
    SERVICE,
)
from coxswain.webapp.times import moment
from rendered import CHILDREN, desired, kind_of, observe
from unit.bench import COMPLETE, SPEC, WEB, Bench
from unit.objects import stored, webapp
from unit.pod_states import CRASH_LOOP, NOW, PULL_LOOP, STARTS, ago, pod, replica_set, unscheduled
from unit.schema import schema, violations

REVISION = {"deployment.kubernetes.io/revision": "2"}
PROBES = {
    "readinessProbe": {"httpGet": {"port": 80, "path": "/"}, "periodSeconds": 10},
    "livenessProbe": {"exec": {"command": ["true"]}},
    "startupProbe": {"grpc": {"port": 1}},
}
GUARDS: dict[str, Any] = {
    "autoscaling": {"maxReplicas": 3},
    "disruption": {"enabled": True},
    "network": {"defaultDeny": True},
}
APP = webapp(**{**SPEC, **PROBES, **GUARDS, "files": [{"path": "/a", "content": "b"}]})
CONDITIONS = [
    {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "yes"},
    {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "late"},
    {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"},
]
FIXED = {
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    *(("metadata", name) for name in ("name", "namespace", "uid", "resourceVersion")),
}
"""The fields of every object stored by the API server."""
TIMES = ("", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-01-01T00:00:00+00:00", "2026-01-01", "now")


def children() -> dict[Kind, dict[str, Any]]:
    """Return the children as stored, with the Deployment in a failing rollout."""
    found = {kind_of(manifest): stored(manifest, uid=manifest["kind"]) for manifest in desired(APP)}
    live = found[DEPLOYMENT]
    live["metadata"]["annotations"] = dict(REVISION)
    live["status"] = {**COMPLETE, "availableReplicas": 0, "readyReplicas": 0, "conditions": CONDITIONS}
    failed = {"type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric", "message": "no"}
    found[HORIZONTAL_POD_AUTOSCALER]["status"] = {"conditions": [{**failed, "lastTransitionTime": ago(9)}]}
    blocked = {"observedGeneration": 1, "expectedPods": 1, "currentHealthy": 1, "disruptionsAllowed": 0}
    found[POD_DISRUPTION_BUDGET]["status"] = blocked
    for raw in found.values():
        other = {"manager": "flux", "operation": "Update", "fieldsV1": {"f:metadata": {"f:labels": {"f:x": {}}}}}
        raw["metadata"]["managedFields"].append(other)
    return found


def autoscaler() -> dict[str, Any]:
    """Return an autoscaler of the Deployment."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {"metadata": {"name": "scaler", "creationTimestamp": ago(5)}, "spec": {"scaleTargetRef": target}}


PODS = [pod(state) for state in (*CRASH_LOOP, *PULL_LOOP, *STARTS)] + [
    unscheduled("0/3 nodes are available"),
    pod(phase="Failed", reason="Evicted", message="The node was low on resource: memory."),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all parts of a value except those that always exist."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if (*path, key) not in FIXED:
            yield (*path, key)
        if key != "fieldsV1":
            yield from places(item, (*path, key))


@st.composite
def odd(draw: st.DrawFn, raw: dict[str, Any]) -> dict[str, Any]:
    """Draw the object with some values missing, null or empty, or with other texts."""
    made = copy.deepcopy(raw)
    found = list(places(made))
    for path in draw(st.lists(st.sampled_from(found), max_size=6)):
        holder: Any = made
        try:
            for key in path[:-1]:
                holder = holder[key]
            value = holder[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue
        # A list item is never null: Go has no such structs.
        choices: list[Any] = [type(value)()] if isinstance(holder, list) else [None, type(value)()]
        if isinstance(value, str):
            choices += [draw(st.text(max_size=8)), *TIMES]
        if draw(st.booleans()) and isinstance(holder, dict):
            del holder[path[-1]]
        else:
            holder[path[-1]] = draw(st.sampled_from(choices))
    return made


def stored_as(raw: dict[str, Any], name: str, version: int) -> dict[str, Any]:
    """Return the object with the identity that the API server assigns."""
    identity = {"namespace": "shop", "uid": raw["metadata"].get("uid", name), "resourceVersion": str(version)}
    return {**raw, "metadata": {**raw["metadata"], "name": name, **identity}}


def named(raw: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object with its name and with the Deployment as owner."""
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "Deployment", "controller": True}
    metadata = {"labels": {}, "ownerReferences": [owner], **raw["metadata"], "name": name}
    metadata["labels"] = {**metadata["labels"], "coxswain.dev/webapp": "web"}
    return {**raw, "metadata": metadata}


async def _reassigned(observed: Projection, paths: Sequence[Path]) -> Projection:
    owned, others = dict(observed.owned or {}), list(observed.others)
    for path in paths:
        owned = plus(owned, path, {})
        others = [entry._replace(fields=minus_path(entry.fields, path)) for entry in others]
    return dataclasses.replace(observed, owned=owned, others=tuple(others))


@pytest.mark.thorough
@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_reconcile_of_odd_objects_raises_nothing(data: st.DataObject) -> None:
    bench = Bench()
    bench.time = NOW
    bench.writer.take_ownership = _reassigned  # type: ignore[method-assign]
    spec: Any = APP.spec
    bench.webapp(version=1000, **spec)
    raws = list(children().items())
    raws += [(REPLICA_SET, named(replica_set(), "web-new")), (HORIZONTAL_POD_AUTOSCALER, autoscaler())]
    raws += [(POD, named(data.draw(st.sampled_from(PODS)), f"web-new-{number}")) for number in range(2)]
    for number, (kind, raw) in enumerate(raws):
        name = raw["metadata"]["name"]
        bench.store.observe(observe(kind, stored_as(data.draw(odd(raw)), name, 2000 + number)))
    bench.writer.version = 3000
    bench.run(failures=9)
    bench.now += 60
    bench.run(failures=9)
    found = bench.store.parent(WEB)
    assert found is not None
    assert list(violations(found.content["status"], schema("status"))) == []


@pytest.mark.parametrize("running", [{"startedAt": None}, {}])
def test_a_running_container_without_a_start_time_has_no_cause(running: dict[str, Any]) -> None:
    for state in (pod({"name": "app", "state": {"running": running}}), pod({"state": {"running": running}})):
        raw = stored_as(named(state, "web-new-1"), "web-new-1", 1)
        found = diagnosis(
            APP, observe(DEPLOYMENT, children()[DEPLOYMENT]).content, [replica_set()], [observe(POD, raw).content], NOW
        )
        assert found.cause is None


@given(st.one_of(st.none(), st.text(), st.sampled_from(TIMES), st.datetimes().map(str)))
def test_any_text_is_a_moment_or_none(text: str | None) -> None:
    found = moment(text)
    assert found is None or found.tzinfo is UTC
    assert moment("2026-01-01T12:00:00Z") == datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("kind", [*CHILDREN, POD, REPLICA_SET])
@pytest.mark.parametrize("nothing", [None, {}])
def test_a_nearly_empty_object_has_no_parents(kind: Kind, nothing: Any) -> None:
    nulls = dict.fromkeys(("labels", "annotations", "ownerReferences", "managedFields", "creationTimestamp"))
    raw = {"metadata": nulls, "spec": nothing, "status": nothing, "data": nothing}
    assert observe(kind, stored_as(raw, "web", 1)).parents == set()


def test_null_equals_absent() -> None:
    manifest = next(found for found in desired(APP) if kind_of(found) is SERVICE)
    raw = stored(manifest, version=1)
    with_nulls = {**raw, "status": None, "spec": {**raw["spec"], "externalIPs": None}}
    assert observe(SERVICE, with_nulls) == observe(SERVICE, raw)
