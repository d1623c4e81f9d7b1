"""The fault suite's own conditions, on invented runs: floors, waits, and the options of the operator."""

import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import coxswain.command_line as program
from cluster.audit import AuditEvent
from coxswain.settings import Settings
from fault_engine.lives import CREATE
from fault_engine.plan import Drop
from fault_engine.play import Played
from fault_engine.run import Measured
from fault_engine.scale import Scale
from fault_engine.script import Edit, Script, to_json
from fault_engine.stand import Choices, Stand
from fault_engine.switches import switches
from faults import drifted_fields, launch, test_co_writers, test_load, test_outages, test_unions, test_writes
from faults.scaled_settings import scaled
from faults.workloads.webapp import WEBAPP
from rendered import desired
from unit.faulty_runs import OPERATOR, Run
from unit.objects import stored, webapp


class Stub:
    """A case with invented runs."""

    broken = False
    workload = WEBAPP

    def __init__(self, reference: Played, *played: Played, scale: float = 0.1) -> None:
        self._reference = reference
        self._played = itertools.cycle(played)
        self.scale = Scale(scale)
        self.measured = Measured()
        self.scripts: list[Script] = []

    def reference(self, _script: Script) -> Played:
        return self._reference

    def __call__(self, script: Script, **_more: Any) -> Played:
        self.scripts.append(script)
        return next(self._played)


def written(fault: str = "") -> Played:
    """Return a run with one write."""
    run = Run()
    run.mark("script begins")
    run.write("patch", "services", fault=fault)
    run.now += 1
    run.mark("settled")
    return Played(evidence=run.evidence())


def test_faults_that_do_not_come_about_prove_nothing() -> None:
    """T9: each life passed, even if the fault never hit its write."""
    steps = {"create": CREATE}
    met: Any = Stub(written(), written("Drop()"))
    test_writes.each_write(met, "create", Drop(), steps=steps)
    unmet: Any = Stub(written(), written())
    with pytest.raises(AssertionError, match="only 0 of 1 faults happened"):
        test_writes.each_write(unmet, "create", Drop(), steps=steps)


def created(resource: str) -> Played:
    """Return a run that ends with a child of WebApp web, made from the largest spec of the fault suite."""
    run = Run()
    kinds = {"services": "Service", "deployments": "Deployment"}
    spec: Any = test_co_writers.FULL
    (manifest,) = (each for each in desired(webapp(**spec)) if each["kind"] == kinds[resource])
    run.store(resource, stored(manifest))
    evidence = run.evidence()
    return Played(evidence=evidence, states=[evidence])


@pytest.mark.parametrize("operation", ["replace", "remove"])
def test_edits_that_are_all_refused_prove_nothing(operation: str) -> None:
    """T9: the test passed even if every edit was refused."""
    case: Any = Stub(created("services"), Played())
    test_co_writers.test_each_field_changed(case, "services", operation)
    edits = [number for number, step in enumerate(case.scripts[0], start=1) if isinstance(step, Edit)]
    all_refused: Any = Stub(created("services"), Played(refused=dict.fromkeys(edits, "422")))
    with pytest.raises(AssertionError, match=f"{len(edits)} of {len(edits)} edits were refused"):
        test_co_writers.test_each_field_changed(all_refused, "services", operation)


@pytest.mark.parametrize(("resource", "least"), [("services", 4), ("deployments", 20)])
def test_switches_that_are_all_refused_prove_nothing(resource: str, least: int) -> None:
    """T9: the test passed even if every switch was refused."""
    full = test_co_writers.FULL
    case: Any = Stub(created(resource), Played())
    test_unions.test_each_union_switched(case, resource, full, least)
    count = len(switches(drifted_fields.child(created(resource), resource), WEBAPP))
    all_refused: Any = Stub(created(resource), Played(refused=dict.fromkeys(range(count), "422")))
    with pytest.raises(AssertionError, match=f"{count} of {count} were refused"):
        test_unions.test_each_union_switched(all_refused, resource, full, least)


def followed_after(seconds: float, count: int) -> Played:
    """Return a run in which the Deployment of another WebApp follows each generation after this delay."""
    run, name = Run(), test_load.OTHERS[0]
    parent, child = (run.thing(resource, name, spec={"replicas": 1}) for resource in ("webapps", "deployments"))
    for generation in range(1, count + 1):
        parent["metadata"]["generation"] = generation
        parent["spec"]["replicas"] = child["spec"]["replicas"] = 1 + generation % 2
        parent = run.store("webapps", parent)
        run.now += seconds - 1
        child = run.store("deployments", child)
    return Played(evidence=run.evidence())


@pytest.mark.parametrize(
    ("with_the_heavy", "without", "count", "trouble"),
    [
        (3.9, 1.0, 120, ""),
        (4.1, 1.0, 120, "the others waited"),
        (11.5, 3.0, 120, ""),
        (12.5, 3.0, 120, "the others waited"),
        (1.5, 1.5, 20, "too few changes"),
    ],
)
def test_the_others_of_a_hot_webapp_are_judged(with_the_heavy: float, without: float, count: int, trouble: str) -> None:
    """T9: the p99 of F19 was printed but not asserted."""
    case: Any = Stub(Played(), followed_after(with_the_heavy, count), followed_after(without, count))
    if trouble:
        with pytest.raises(AssertionError, match=trouble):
            test_load.test_poison_and_hot(case)
    else:
        test_load.test_poison_and_hot(case)


@pytest.mark.parametrize("scale", [0.02, 0.1, 1.0])
def test_each_retry_after_is_another_one_at_every_scale(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """T7: at scale 0.1, two of the three values were the same."""
    monkeypatch.setattr(test_outages, "refused", lambda _: [])
    case: Any = Stub(Played(), Played(), scale=scale)
    (mark,) = (mark for mark in test_outages.test_throttled.pytestmark if mark.name == "parametrize")  # type: ignore[attr-defined]
    for values in mark.args[1]:
        with pytest.raises(AssertionError):  # no request was refused
            test_outages.test_throttled(case, *getattr(values, "values", values))
    sent = [re.findall(r'"retry_after": (\d+)', json.dumps(to_json(script))) for script in case.scripts]
    assert len({tuple(each) for each in sent}) == len(sent) == 3


def test_what_is_waited_for_has_as_much_more_time_as_the_waits_are_longer() -> None:
    """T7: the deadlines for settling did not grow with the scale."""
    assert [Scale(factor).patience(30) for factor in (0.02, 0.1, 0.5, 1)] == [30, 30, 150, 300]


@pytest.mark.parametrize("scale", [0.02, 0.1, 0.5, 1.0])
def test_the_quiet_time_is_longer_than_the_longest_retry(scale: float) -> None:
    """T3: the quiet time was 1.2 s, while retries were up to 6 s apart."""
    settings = scaled(Settings(), Scale(scale))
    delays = (settings.queue.retry_delay_limit, settings.status.backoff_delay_limit, settings.status.stale_interval)
    assert WEBAPP.quiet(Scale(scale)) >= max(delays) + 1


def test_no_resync_mends_anything_unless_the_test_is_about_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T6: tests passed because of the resync alone."""
    started: list[list[str]] = []

    class Process:
        def __init__(self, _kubeconfig: Path, _log: Path, arguments: Any, *, program: Any) -> None:
            started.append([*program[1:], *arguments])

    monkeypatch.setattr("fault_engine.stand.OperatorProcess", Process)
    monkeypatch.setattr(program, "settings", program.settings)
    monkeypatch.setattr(launch, "run_module", lambda *_, **__: None)
    intervals = []
    for resync in (False, True):
        stand(tmp_path, resync=resync).launch("operator.log")
        monkeypatch.setattr(sys, "argv", ["x", *started[-1]])
        monkeypatch.setattr(program, "settings", ORIGINAL)
        launch.main()
        intervals.append(program.settings([], {}).resync_interval)
    assert intervals[0] >= 1e6
    assert intervals[1] == 60


ORIGINAL = program.settings


def stand(folder: Path, **choices: Any) -> Stand:
    return Stand(None, WEBAPP, "run-1", Choices(Scale(0.1), **choices), folder)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("user", "namespace", "counts"),
    [
        (OPERATOR, "run-1", True),
        (OPERATOR, "other", True),
        (OPERATOR, "", True),
        ("someone", "run-1", True),
        ("someone", "other", False),
    ],
)
def test_the_operators_writes_in_other_namespaces_reach_the_oracles(
    tmp_path: Path, user: str, namespace: str, counts: bool
) -> None:
    """T4: these writes were dropped before oracle O6 saw them."""
    event = AuditEvent(user, "", "patch", "services", "", namespace, "web", 200, "ResponseComplete", "", "")
    assert stand(tmp_path)._is_about(event) is counts
