"""The original kstatus of Flux and kpt evaluates WebApps: compared with the unit tests' copy, and on live objects."""

import json
import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from cluster import KubectlError
from cluster.catalog import Module, Program
from cluster.programs import cache_programs
from integration.scene import SPEC, Scene, eventually
from unit.kstatus import CURRENT, FAILED, IN_PROGRESS, read
from unit.webapp_states import HEALTHS, deleted, reported, saying, unreported

KSTATUS = Program("kstatus", Module("kstatus", "sigs.k8s.io/cli-utils"), ".")

WebApp = dict[str, Any]


@pytest.fixture(scope="session")
def kstatus() -> Path:
    """The program; built once, then cached."""
    return cache_programs([KSTATUS], progress=print)["kstatus"].path


def judged(kstatus: Path, *webapps: WebApp) -> list[str]:
    """Return the results of kstatus."""
    text = "\n".join(json.dumps(webapp) for webapp in webapps)
    answer = subprocess.run([str(kstatus)], input=text, capture_output=True, text=True, timeout=60, check=True)
    return [json.loads(line)["status"] for line in answer.stdout.splitlines()]


def odd() -> list[WebApp]:
    """Return WebApps for the rules that the operator's own statuses do not reach."""
    kinds, values = ("Ready", "Stalled", "Reconciling"), ("True", "False", "Unknown")
    well = reported(HEALTHS["healthy"])
    said = [{"type": kind, "status": value, "message": "m"} for kind, value in product(kinds, values)]
    pairs = [saying(well, one, other) for one, other in product(said, said) if one["type"] != other["type"]]
    statuses: Sequence[WebApp] = [{}, {"observedGeneration": 0}, {"conditions": []}]
    bare = [{**unreported(), "status": status} for status in statuses]
    return [*pairs, *bare, unreported(), deleted(unreported()), reported(HEALTHS["healthy"], observed=2)]


def test_the_reader_of_the_unit_tests_agrees_with_kstatus(kstatus: Path) -> None:
    usual = [
        reported(HEALTHS["healthy"], state, generation=2, observed=observed, paused=paused)
        for state, observed, paused in product(HEALTHS.values(), (1, 2), (False, True))
    ]
    webapps: Sequence[WebApp] = [*usual, *(deleted(webapp) for webapp in usual), *odd()]
    verdicts = judged(kstatus, *webapps)
    assert verdicts == [read(webapp) for webapp in webapps]
    print({verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))})


@pytest.mark.slow
def test_a_webapp_without_a_status_is_in_progress(scene: Scene, kstatus: Path) -> None:
    scene.operator.stop()
    scene.apply()
    assert judged(kstatus, scene.get("webapp")) == [IN_PROGRESS]
    scene.operator.start()
    assert judged(kstatus, scene.ready()) == [CURRENT]


@pytest.mark.slow
def test_a_changed_spec_that_no_operator_has_seen_is_in_progress(scene: Scene, kstatus: Path) -> None:
    """`kubectl wait` does not accept the Ready condition of the previous generation either."""
    scene.apply_ready()
    scene.operator.stop()
    scene.apply(spec={**SPEC, "image": "registry.example/web:2"})
    assert judged(kstatus, scene.get("webapp")) == [IN_PROGRESS]
    with pytest.raises(KubectlError, match="condition not met"):
        scene.kubectl("wait", "webapp/web", "--for=condition=Ready", "--timeout=0")
    scene.operator.start()
    scene.kubectl("wait", "webapp/web", "--for=condition=Ready", "--timeout=40s")
    assert judged(kstatus, scene.get("webapp")) == [CURRENT]


def test_a_rollout_past_its_deadline_has_failed(scene: Scene, kstatus: Path) -> None:
    fate = {"kwok.test/fate": "never-ready"}
    scene.apply(spec={**SPEC, "annotations": fate, "rollout": {"progressDeadlineSeconds": 3}})
    scene.not_ready("RollingOut")
    assert judged(kstatus, scene.get("webapp")) == [IN_PROGRESS]
    scene.kubectl("wait", "webapp/web", "--for=condition=Stalled", "--timeout=40s")
    eventually(lambda: judged(kstatus, scene.get("webapp")) == [FAILED], "kstatus says Failed")
