"""The fault suite under pytest: a Kubernetes for each worker, a case for each test, and results for docs/faults.md.

`--time-scale 0.1` shortens all waits, `--prove` runs each test on the broken operator that it names and expects it to
fail, `--results FILE` keeps what came of it.
"""

import re
import sys
import time
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cluster import ControlPlane
from faults import breaks
from faults.disasters import make_whole
from faults.proof import Caught, told_apart
from faults.results import Result, Results, commit
from faults.run import Case, Surroundings
from faults.scale import Scale

ROOT = Path(__file__).parents[2]
LEFT_BEHIND = ROOT / ".faults"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    group = parser.getgroup("faults")
    group.addoption("--time-scale", type=float, default=0.1, help="of the waits that the table of faults names")
    group.addoption("--prove", action="store_true", help="run each test on an operator that is broken on purpose")
    group.addoption("--examples", type=int, default=30, help="how many scripts the random mix tries (default: 30)")
    group.addoption("--results", type=Path, help="a JSON file for what came of each test")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the results where the reports of all workers arrive."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Results(config), "fault-results")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let -k choose by the number of the fault too."""
    marker = item.get_closest_marker("fault")
    if marker is not None:
        item.extra_keyword_matches.add(str(marker.args[0]))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --prove, keep of each test one for each break that it names; all of them must fail."""
    if not config.getoption("--prove"):
        return
    kept: dict[tuple[str, str], pytest.Item] = {}
    for item in items:
        broken = _marked(item).kwargs.get("broken")
        if broken:
            kept.setdefault((item.nodeid.partition("[")[0], broken), item)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept.values()])
    items[:] = kept.values()
    for item in items:
        item.add_marker(pytest.mark.xfail(raises=Caught, strict=True, reason="broken on purpose"))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """With --prove, see by what a test failed."""
    try:
        return (yield)
    except AssertionError as error:
        case = pyfuncitem.funcargs.get("case")
        if not isinstance(case, Case) or not case.broken:
            raise
        raise told_apart(_by(_marked(pyfuncitem)), case.measured.violations, str(error)) from error


def _by(marker: pytest.Mark) -> tuple[str, ...]:
    """Return the oracles that must find what is broken."""
    by = marker.kwargs.get("by", "O1")
    return (by,) if isinstance(by, str) else tuple(by)


def _marked(item: pytest.Item) -> pytest.Mark:
    marker = item.get_closest_marker("fault")
    return marker or pytest.mark.fault.mark


@pytest.fixture(scope="session")
def cluster() -> Iterator[ControlPlane]:
    """A Kubernetes with the CRD and the manifests, but for the operator's Deployment: each run starts its own."""
    with ControlPlane(manifests=[ROOT / "crds" / "webapps.yaml"]) as plane:
        plane.kubectl("apply", "--kustomize", str(ROOT / "manifests/overlays/out-of-cluster"))
        yield plane


@pytest.fixture(scope="session")
def surroundings(cluster: ControlPlane, request: pytest.FixtureRequest) -> Surroundings:
    """What all cases share."""
    return Surroundings(cluster, LEFT_BEHIND, Scale(request.config.getoption("--time-scale")))


@pytest.fixture
def whole(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """The cluster, made what it was when the test has done to it what it does."""
    yield cluster
    make_whole(cluster)


@pytest.fixture
def case(surroundings: Surroundings, request: pytest.FixtureRequest) -> Iterator[Case]:
    """The case of a test that `@pytest.mark.fault` describes."""
    marker = _marked(request.node)
    number, title = marker.args
    broken = marker.kwargs.get("broken") if request.config.getoption("--prove") else None
    known = breaks.known()
    if broken is not None and broken not in known:
        raise pytest.UsageError(
            f"{request.node.nodeid}: no break is called {broken!r}, only {', '.join(sorted(known))}"
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
