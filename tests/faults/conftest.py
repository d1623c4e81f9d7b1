"""The fault suite under pytest: a control plane for each worker, a case for each test, and results for docs/faults.md.

`--time-scale 0.1` shortens all waits. `--prove` runs each test on the broken operator that it names, and expects a
failure. `--results FILE` keeps the results. `--workload scheduled-task` runs the tests with the mark `generic` on that
workload.
"""

import re
import sys
import time
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cluster import ControlPlane
from fault_engine.disasters import repair
from fault_engine.proof import Caught, judge_failure
from fault_engine.results import Result, Results, commit
from fault_engine.run import Case, Surroundings
from fault_engine.scale import Scale
from fault_engine.workload import Workload
from faults import breaks
from faults.workloads import DEFAULT, WORKLOADS

ROOT = Path(__file__).parents[2]
LEFT_BEHIND = ROOT / ".faults"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suite."""
    group = parser.getgroup("faults")
    group.addoption("--time-scale", type=float, default=0.1, help="the factor on the waits of the table of faults")
    group.addoption(
        "--workload", choices=sorted(WORKLOADS), default=DEFAULT, help=f"the operator under test (default: {DEFAULT})"
    )
    group.addoption("--prove", action="store_true", help="run each test on a deliberately broken operator")
    group.addoption("--examples", type=int, default=30, help="the number of scripts of the random mix (default: 30)")
    group.addoption("--results", type=Path, help="a JSON file for the results")


def pytest_configure(config: pytest.Config) -> None:
    """Register the collector of results in the process that receives the reports of all workers.

    Raises:
        pytest.UsageError: results of another workload would replace rows of docs/faults.md.
    """
    if config.getoption("--results") is not None and config.getoption("--workload") != DEFAULT:
        raise pytest.UsageError(f"--results accepts only results of the workload {DEFAULT}; omit it")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Results(config), "fault-results")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark each test of the suite, and let -k also select by the number of the fault."""
    item.add_marker("fault_suite")
    marker = item.get_closest_marker("fault")
    if marker is not None:
        item.extra_keyword_matches.add(str(marker.args[0]))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the generic tests for another workload. With --prove, keep one test for each break and oracle.

    It must fail.
    """
    if config.getoption("--workload") != DEFAULT:
        specific = [item for item in items if item.get_closest_marker("generic") is None]
        config.hook.pytest_deselected(items=specific)
        items[:] = [item for item in items if item not in specific]
    if not config.getoption("--prove"):
        return
    kept: dict[tuple[str, str, tuple[str, ...]], pytest.Item] = {}
    for item in items:
        marker = _marked(item)
        if broken := marker.kwargs.get("broken"):
            kept.setdefault((item.nodeid.partition("[")[0], broken, _by(marker)), item)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept.values()])
    items[:] = kept.values()
    for item in items:
        item.add_marker(pytest.mark.xfail(raises=Caught, strict=True, reason="deliberately broken"))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """With --prove, turn a failure into Caught or Unproved."""
    try:
        return (yield)
    except AssertionError as error:
        case = pyfuncitem.funcargs.get("case")
        if not isinstance(case, Case) or not case.broken:
            raise
        raise judge_failure(_by(_marked(pyfuncitem)), case.measured.violations, str(error)) from error


def _by(marker: pytest.Mark) -> tuple[str, ...]:
    """Return the oracles that must detect the break."""
    by = marker.kwargs.get("by", "O1")
    return (by,) if isinstance(by, str) else tuple(by)


def _marked(item: pytest.Item) -> pytest.Mark:
    marker = item.get_closest_marker("fault")
    return marker or pytest.mark.fault.mark


@pytest.fixture(scope="session")
def workload(request: pytest.FixtureRequest) -> Workload:
    """The operator under test."""
    return WORKLOADS[request.config.getoption("--workload")]


@pytest.fixture(scope="session")
def cluster(workload: Workload) -> Iterator[ControlPlane]:
    """A control plane with the CRD and the rights of the workload. Each run starts its own operator."""
    with ControlPlane(manifests=[workload.crd]) as plane:
        workload.install(plane)
        yield plane


@pytest.fixture(scope="session")
def surroundings(cluster: ControlPlane, workload: Workload, request: pytest.FixtureRequest) -> Surroundings:
    """The shared state of all cases."""
    scale = Scale(request.config.getoption("--time-scale"))
    return Surroundings(cluster, workload, LEFT_BEHIND, scale, breaks.known())


@pytest.fixture
def whole(cluster: ControlPlane, workload: Workload) -> Iterator[ControlPlane]:
    """The cluster, for tests with disasters. It is repaired after the test."""
    yield cluster
    repair(cluster, workload)


@pytest.fixture
def case(surroundings: Surroundings, request: pytest.FixtureRequest) -> Iterator[Case]:
    """The case of a test that `@pytest.mark.fault` describes."""
    marker = _marked(request.node)
    number, title = marker.args
    broken = marker.kwargs.get("broken") if request.config.getoption("--prove") else None
    known = breaks.known()
    if broken is not None and broken not in known:
        raise pytest.UsageError(
            f"{request.node.nodeid}: there is no break {broken!r}; the breaks are {', '.join(sorted(known))}"
        )
    made = Case(
        surroundings,
        re.sub(r"\W+", "-", request.node.name).strip("-"),
        marker.kwargs["oracles"],
        broken,
        by=_by(marker),
        resync=marker.kwargs.get("resync", False),
    )
    started = time.monotonic()
    yield made
    result = Result(
        fault=number,
        title=title,
        test=request.node.nodeid,
        oracles=tuple(marker.kwargs["oracles"]),
        broken=marker.kwargs.get("broken"),
        by=_by(marker),
        scale=surroundings.scale.factor,
        runs=made.measured.runs,
        recoveries=made.measured.recoveries,
        waits=made.measured.waits,
        violations=made.measured.violations[:5],
        seconds=time.monotonic() - started,
        commit=commit(),
        date=datetime.now(UTC).date().isoformat(),
    )
    request.node.user_properties.append(("fault", result.to_json()))
    sys.stdout.flush()
