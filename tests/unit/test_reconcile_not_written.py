"""A reconcile whose writes fail: its status keeps what is true anyway, and tells each thing once and in time."""

import asyncio
import copy
import dataclasses
from typing import Any

import pytest

from coxswain.kernel.api.errors import Refused, Unreachable
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.field_paths import ManagedFieldsEntry
from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.status_fields import Status
from coxswain.kernel.reconciling.child.dependencies import serves
from coxswain.kernel.status.health import Level
from coxswain.webapp.children import service
from coxswain.webapp.kinds import CONFIG_MAP, DEPLOYMENT, SERVICE
from unit.bench import WEB, Bench
from unit.objects import observed_child
from unit.server import RecordingWriter, refusal

DENIED = refusal(403, 'admission webhook "x" denied the request: no')
YIELD = {
    "conflicts": {
        "rules": [
            {"kind": "Service", "path": "spec.sessionAffinity", "policy": "Yield"},
            {"kind": "Deployment", "path": "spec.strategy.rollingUpdate.maxSurge", "policy": "Yield"},
        ]
    }
}
FIELDS: dict[Kind, tuple[tuple[str, ...], Any]] = {
    SERVICE: (("spec", "sessionAffinity"), "ClientIP"),
    DEPLOYMENT: (("spec", "strategy", "rollingUpdate", "maxSurge"), 3),
}
"""The path of a field, and the value of another manager."""


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.converge()
    return bench


def edit(bench: Bench, kind: Kind) -> None:
    """Let kubectl take a field of a child, with another value."""
    live = bench.store.get(kind, WEB)
    assert live is not None
    assert live.owned is not None
    path, value = FIELDS[kind]
    content: Any = copy.deepcopy(live.content)
    ours: Any = copy.deepcopy(live.owned)
    theirs: dict[str, Any] = {}
    parent, entries, their_entries = content, ours, theirs
    for name in path[:-1]:
        parent, entries = parent.setdefault(name, {}), entries[f"f:{name}"]
        their_entries = their_entries.setdefault(f"f:{name}", {})
    parent[path[-1]] = value
    del entries[f"f:{path[-1]}"]
    their_entries[f"f:{path[-1]}"] = {}
    bench.writer.version += 1
    others = (ManagedFieldsEntry("kubectl-edit", theirs),)
    edited = dataclasses.replace(live, version=bench.writer.version, owned=ours, content=content, others=others)
    bench.store.observe(edited)


def later(bench: Bench, seconds: float = 30.0, *, failures: int = 0) -> None:
    bench.now += seconds
    bench.run(failures=failures)


def change(bench: Bench, **spec: Any) -> None:
    """Change the spec, and reconcile often enough that a failure is reported."""
    bench.webapp(version=bench.writer.version + 1, generation=bench.webapp_now().generation + 1, **spec)
    for failures in (0, 5, 5):
        later(bench, failures=failures)


def conflicts(bench: Bench) -> list[str]:
    """Return the fields of the conflicts in the status."""
    return [each["field"] for each in bench.webapp_now().content["status"].get("conflicts", [])]


@pytest.mark.parametrize("error", [DENIED, refusal(422), Unreachable("reset")])
def test_a_yielded_field_stays_reported_while_the_child_cannot_be_written(bench: Bench, error: Exception) -> None:
    change(bench, **YIELD)
    edit(bench, SERVICE)
    later(bench)
    assert conflicts(bench) == ["spec.sessionAffinity"]
    bench.writer.fail("update Service", error)
    bench.events.told.clear()
    change(bench, **YIELD, labels={"example.com/team": "red"})
    assert bench.conditions()["Ready"][0] == "False"
    assert bench.conditions()["Conflicted"] == ("True", "Yielded")
    assert conflicts(bench) == ["spec.sessionAffinity"]
    later(bench, 0.01, failures=5)
    assert bench.writer.sent == [], "the write waits"
    assert conflicts(bench) == ["spec.sessionAffinity"]
    assert "FieldConflict" not in [each.reason for each in bench.events.told], "it was reported before"


def test_a_yielded_field_stays_reported_while_the_child_waits_for_another(bench: Bench) -> None:
    change(bench, **YIELD)
    edit(bench, DEPLOYMENT)
    later(bench)
    assert conflicts(bench) == ["spec.strategy.rollingUpdate.maxSurge"]
    bench.writer.fail(f"create {CONFIG_MAP.kind}", DENIED)
    change(bench, **YIELD, config={"A": "2"})
    assert "waits for ConfigMap" in str(bench.webapp_now().content["status"]["children"])
    assert bench.conditions()["Conflicted"] == ("True", "Yielded")
    assert conflicts(bench) == ["spec.strategy.rollingUpdate.maxSurge"]


def test_a_suspension_stays_reported_while_the_child_cannot_be_written(bench: Bench) -> None:
    for _ in range(6):
        edit(bench, SERVICE)
        later(bench, 1)
    later(bench, 2)
    assert bench.conditions()["Contested"][0] == "True"
    bench.writer.fail("update Service", DENIED)
    bench.webapp(version=bench.writer.version + 1, generation=2, labels={"example.com/team": "red"})
    later(bench, 5)
    later(bench, 5, failures=5)
    assert bench.reconciler.contested() == 1
    assert bench.conditions()["Contested"][0] == "True"


def test_a_controller_that_lags_behind_delays_no_failure_of_another_child(bench: Bench) -> None:
    """Another writer changes the Deployment all the time, and its controller is one generation behind."""
    bench.writer.fail("update Service", refusal(422))
    edit(bench, SERVICE)
    live = bench.store.get(DEPLOYMENT, WEB)
    assert live is not None
    bench.writer.version += 1
    content = {**live.content, "metadata": {**live.content["metadata"], "generation": 3}}
    content["status"] = {**live.content["status"], "observedGeneration": 2}
    bench.store.observe(dataclasses.replace(live, version=bench.writer.version, content=content))
    bench.run()
    assert bench.conditions()["Stalled"][0] == "True"


class Shared(RecordingWriter):
    """Another manager owns a condition of the status: an apply leaves it, and its removal fails."""

    error: Exception = Unreachable("reset")

    async def write_status(self, parent: Projection, status: Status) -> Projection:
        written = await super().write_status(parent, status)
        left = {**status["conditions"][0], "type": "RolledBack"}
        content = {**written.content, "status": {**status, "conditions": [*status["conditions"], left]}}
        return self.deliver("status", dataclasses.replace(written, content=content))

    async def remove_from_status(self, parent: Projection, pointers: Any) -> Projection:
        await super().remove_from_status(parent, pointers)
        raise self.error


@pytest.mark.parametrize("error", [Unreachable("reset"), DENIED, refusal(409), refusal(422)])
def test_a_correction_counts_once_although_the_removal_after_the_apply_fails(bench: Bench, error: Exception) -> None:
    edit(bench, SERVICE)
    bench.writer.__class__ = Shared
    bench.writer.error = error  # type: ignore[attr-defined]
    bench.run()
    assert bench.writer.sent[:2] == ["update Service", "status"]
    assert any(each.startswith("status without") for each in bench.writer.sent)
    for failures in range(5):
        later(bench, 61, failures=failures)
    counts = [each["count"] for each in bench.webapp_now().content["status"]["drift"]]
    assert counts == [1]


def test_a_cancelled_reconcile_posts_no_event(bench: Bench) -> None:
    """A slot is released after that, so it must not wait for an API server that does not answer."""
    posted: list[str] = []

    async def hang(*_: Any) -> Projection:
        await asyncio.sleep(3600)
        raise AssertionError

    async def record(_: Any, event: EventRecord, __: Any) -> None:
        posted.append(event.reason)

    async def cancel() -> None:
        reconcile = asyncio.create_task(bench.reconciler.reconcile(WEB, failures=0))
        await asyncio.sleep(0.05)
        assert "update Service" in bench.writer.sent
        reconcile.cancel()
        await asyncio.wait([reconcile], timeout=5)
        assert reconcile.cancelled()

    edit(bench, SERVICE)
    bench.writer.write_status = hang  # type: ignore[assignment]
    bench.events.record = record  # type: ignore[assignment]
    asyncio.run(cancel())
    assert posted == []


@pytest.mark.parametrize("error", [refusal(409), Unreachable("reset")])
def test_a_reconcile_whose_status_fails_posts_its_events(bench: Bench, error: Exception) -> None:
    edit(bench, SERVICE)
    bench.writer.fail("status", error)
    try:
        bench.run()
    except (Refused, Unreachable):
        assert not isinstance(error, Refused)
    assert "DriftCorrected" in [each.reason for each in bench.events.told]


def test_a_child_that_is_being_deleted_serves_nobody() -> None:
    """Also while an error delays its next write, whose health is then reported."""
    live = observed_child(SERVICE)
    assert serves(service.TYPE, {}, Level.DEGRADED, live)
    assert not serves(service.TYPE, {}, Level.DEGRADED, dataclasses.replace(live, terminating=True))
