"""Records of measurements, and statistics over several of them."""

import dataclasses
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COXSWAIN = "coxswain"
BARE = "bare"
PLAIN_KOPF = "plain Kopf"
CONTROLLER_RUNTIME = "controller-runtime"
PEERS = (COXSWAIN, BARE, PLAIN_KOPF, CONTROLLER_RUNTIME)


@dataclass(frozen=True)
class Measured:
    """One run of one benchmark."""

    benchmark: str
    """B0 to B11."""
    peer: str
    """One of PEERS."""
    size: int
    """The number of WebApps."""
    round: int
    """From 1; the peers of one round run sequentially."""
    case: str = ""
    """A further distinction of runs: `concurrency 16`, `503`."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """By name; the unit is in the name, or seconds."""
    requests: Mapping[str, int] = field(default_factory=dict)
    """The peer's requests, as `patch deployments` or `patch webapps/status`."""
    void: tuple[str, ...] = ()
    """The reasons to exclude the run."""
    commit: str = ""
    """The measured commit of the project."""
    date: str = ""
    """The day of the run."""


@dataclass(frozen=True)
class Machine:
    """The machine of the run."""

    date: str
    kubernetes: str
    cores: int
    python: str
    load_before: float
    """The load average of the minute before."""


@dataclass(frozen=True)
class Results:
    """All measurements of one `make bench`, and the profile of the operator."""

    machine: Machine
    measured: Sequence[Measured]
    profile: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The operator's CPU seconds by part, for each profiled benchmark."""


@dataclass(frozen=True)
class Spread:
    """Several values of one figure."""

    low: float
    median: float
    high: float


def spread(values: Iterable[float]) -> Spread:
    """Return the spread of at least one value."""
    known = list(values)
    return Spread(min(known), statistics.median(known), max(known))


def percentile(values: Iterable[float], share: float) -> float:
    """Return the smallest value with at least this share (0 to 1) of values at or below it; NaN without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


def ratios(measured: Iterable[Measured], figure: str, over: str) -> list[float]:
    """Return a figure's ratios to the peer `over` in the same round: one for each round in which both runs are valid.

    `measured` are the runs of one benchmark, case and size.
    """
    rounds: dict[int, dict[str, float]] = {}
    for each in measured:
        if not each.void and figure in each.figures:
            rounds.setdefault(each.round, {})["other" if each.peer == over else "own"] = each.figures[figure]
    return [found["own"] / found["other"] for found in rounds.values() if len(found) == 2 and found["other"]]


def chosen(
    results: Results, benchmark: str, *, peer: str | None = None, size: int | None = None, case: str | None = None
) -> list[Measured]:
    """Return the runs of one benchmark."""
    return [
        each
        for each in results.measured
        if each.benchmark == benchmark
        and (peer is None or each.peer == peer)
        and (size is None or each.size == size)
        and (case is None or each.case == case)
    ]


def merged(
    results: Results, measured: Iterable[Measured], profile: Mapping[str, Mapping[str, float]] | None = None
) -> Results:
    """Return results with further ones; new runs replace earlier runs of the same case."""
    found = {_identity(each): each for each in (*results.measured, *measured)}
    return dataclasses.replace(results, measured=list(found.values()), profile={**results.profile, **(profile or {})})


def _identity(one: Measured) -> tuple[object, ...]:
    return one.benchmark, one.peer, one.size, one.case, one.round


def save(results: Results, file: Path) -> None:
    """Save results as JSON, one line for each run, for readable diffs."""
    data = dataclasses.asdict(results)
    runs = ",\n  ".join(json.dumps(each) for each in data.pop("measured"))
    head = json.dumps(data, indent=1)[:-2]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'{head},\n "measured": [\n  {runs}\n ]\n}}\n', encoding="utf-8")


def load(file: Path) -> Results:
    """Return saved results."""
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    measured = [Measured(**{**each, "void": tuple(each["void"])}) for each in data["measured"]]
    return Results(Machine(**data["machine"]), measured, data["profile"])
