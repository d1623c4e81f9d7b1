"""The aims of the benchmarks, the figures for each, and whether they are met. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median

from bench.results import BARE, CONTROLLER_RUNTIME, COXSWAIN, Measured, Results, chosen, ratios
from bench.tables import counting, number, table

CHILDREN = 4
REVISION_WRITES = 2
"""A new spec is recorded as a revision, which is marked when it is Ready. Earlier results have no revisions."""
REVISIONS = "controllerrevisions"
STATUS_WRITES = 2
QUIET_LIMIT = 1.5
"""B9: the maximum wait of a quiet WebApp, relative to the wait without a storm, for up to `STORM_LIMIT` writers."""
STORM_LIMIT = 16
RATIO_LIMIT = 1.1
"""B1: the maximum time to convergence, relative to a peer."""
NEXT_EDIT_SECONDS = {"SIGTERM": 3.0, "SIGKILL": 17.0, "SIGSTOP for 60 s": 17.0}
"""B8: the maximum seconds until the next edit is applied, by case."""
CPU_CREATED, CPU_CHANGED = 12, 8
"""The maximum CPU of the operator for a created WebApp and for a changed image, in milliseconds."""


@dataclass(frozen=True)
class Verdict:
    """The figures for one aim; `met` is None if a figure is missing, no bound is set, or the aim is not judged."""

    found: str
    met: bool | None
    unjudged: bool = False
    """Whether the figures are from before revisions, so that their bound proves nothing."""


Judge = Callable[[Results], Verdict]
_NOTHING = Verdict("not measured", None)


def _own(results: Results, benchmark: str, size: int | None = None) -> list[Measured]:
    return counting(chosen(results, benchmark, peer=COXSWAIN, size=size))


def _unmeasured(_: Results) -> Verdict:
    """Judge an aim that no benchmark measures."""
    return _NOTHING


def _ratio(over: str) -> Judge:
    def judge(results: Results) -> Verdict:
        of_sizes = _ratios_by_size(results, COXSWAIN, over)
        if not of_sizes:
            return _NOTHING
        return Verdict(_listed(of_sizes), max(median(found) for found in of_sizes.values()) <= RATIO_LIMIT)

    return judge


def _ratios_by_size(results: Results, peer: str, over: str) -> dict[int, list[float]]:
    measured = [each for each in chosen(results, "B1") if each.peer in (peer, over)]
    of_sizes = {
        size: ratios([each for each in measured if each.size == size], "seconds", over)
        for size in sorted({each.size for each in measured})
    }
    return {size: found for size, found in of_sizes.items() if found}


def _listed(of_sizes: Mapping[int, Sequence[float]]) -> str:
    return ", ".join(
        f"N = {size}: {median(found):.2f} ({min(found):.2f} to {max(found):.2f})" for size, found in of_sizes.items()
    )


def _bare_with_operator(results: Results) -> Verdict:
    of_sizes = _ratios_by_size(results, BARE, CONTROLLER_RUNTIME)
    return Verdict(_listed(of_sizes), None) if of_sizes else _NOTHING


def _cpu(benchmark: str, limit: float) -> Judge:
    def judge(results: Results) -> Verdict:
        of_sizes: dict[int, list[float]] = {}
        for each in _own(results, benchmark):
            if "operator CPU" in each.figures:
                of_sizes.setdefault(each.size, []).append(1000 * each.figures["operator CPU"] / each.size)
        if not of_sizes:
            return _NOTHING
        medians = {size: median(found) for size, found in sorted(of_sizes.items())}
        found = ", ".join(f"N = {size}: {value:.1f} ms" for size, value in medians.items())
        return Verdict(found, max(medians.values()) <= limit)

    return judge


def _writes(benchmark: str, children: int) -> Judge:
    def judge(results: Results) -> Verdict:
        found = _own(results, benchmark)
        if not found or not all(each.requests for each in found):
            return _NOTHING
        per = [
            {name: count / each.size for name, count in each.requests.items() if name != "create events"}
            for each in found
        ]
        status = max(each.get("patch webapps/status", 0.0) for each in per)
        reads = max(sum(count for name, count in each.items() if name.startswith("get ")) for each in per)
        rest = max(sum(count for name, count in each.items() if name.startswith(("patch", "create"))) for each in per)
        told = f"at most {number(rest - status)} child writes, {number(status)} status writes, {number(reads)} GETs"
        met = rest - status <= children and status <= STATUS_WRITES and not reads
        before = not any(REVISIONS in name for each in found for name in each.requests)
        return Verdict(told, None, unjudged=True) if met and before else Verdict(told, met)

    return judge


def _most(benchmark: str, bounds: Sequence[tuple[str, float]], size: int | None = None) -> Judge:
    def judge(results: Results) -> Verdict:
        found = _own(results, benchmark, size)
        if not found:
            return _NOTHING
        worst = {
            name: max((each.figures[name] for each in found if name in each.figures), default=None)
            for name, _ in bounds
        }
        missing = [
            f"{name} of {each.case or f'N = {each.size}'} not measured"
            for name, _ in bounds
            for each in found
            if name not in each.figures
        ]
        told = [f"{name} {number(value)}" for name, value in worst.items() if value is not None]
        missed = any(
            value is not None and value > bound for (_, bound), value in zip(bounds, worst.values(), strict=True)
        )
        return Verdict(", ".join([*told, *dict.fromkeys(missing)]), False if missed else None if missing else True)

    return judge


def _memory(results: Results) -> Verdict:
    return _memory_of([each for each in _own(results, "B7") if "peak MB" in each.figures])


def _memory_after_restart(results: Results) -> Verdict:
    return _memory_of([each for each in _own(results, "B6") if "MB" in each.figures])


def _memory_of(found: Sequence[Measured]) -> Verdict:
    if not found:
        return _NOTHING
    of_sizes = {size: [each.figures["MB"] for each in found if each.size == size] for size in _sizes(found)}
    told = ", ".join(f"{median(values):.0f} MB at N = {size}" for size, values in of_sizes.items())
    return Verdict(told, all(median(values) < 80 + 20 * size / 1000 for size, values in of_sizes.items()))


def _sizes(found: Sequence[Measured]) -> list[int]:
    return sorted({each.size for each in found})


def _storm(results: Results) -> Verdict:
    found = _own(results, "B9")
    calm = {each.round: each.figures["p99 until written"] for each in found if each.case == "0 writers"}
    over_calm: dict[int, list[float]] = {}
    for each in found:
        writers = re.fullmatch(r"([1-9]\d*) writers", each.case)
        if writers and each.round in calm:
            ratio = each.figures["p99 until written"] / calm[each.round]
            over_calm.setdefault(int(writers[1]), []).append(ratio)
    if not over_calm:
        return _NOTHING
    told = ", ".join(f"{count} writers: {median(each):.1f}" for count, each in sorted(over_calm.items()))
    judged = [ratio for count, each in over_calm.items() if count <= STORM_LIMIT for ratio in each]
    return Verdict(f"p99 divided by the p99 without a storm, {told}", max(judged) <= QUIET_LIMIT if judged else None)


def _next_edits(results: Results) -> Verdict:
    worst: dict[str, float] = {}
    for each in _own(results, "B8"):
        worst[each.case] = max(each.figures.get("next edit", inf), worst.get(each.case, 0.0))
    if not worst:
        return _NOTHING
    told = ", ".join(f"{case}: {'never' if seconds == inf else number(seconds)}" for case, seconds in worst.items())
    return Verdict(told, all(seconds < NEXT_EDIT_SECONDS[case] for case, seconds in worst.items()))


AIMS: Sequence[tuple[str, str, Judge]] = (
    ("B1", f"at most {RATIO_LIMIT} times the bare writer at each size", _ratio(BARE)),
    ("B1", f"at most {RATIO_LIMIT} times controller-runtime at each size", _ratio(CONTROLLER_RUNTIME)),
    ("B1", f"at most {RATIO_LIMIT} times controller-runtime with Server-Side Apply", _unmeasured),
    ("B1", "the bare writer divided by controller-runtime, for comparison", _bare_with_operator),
    ("B1", f"at most {CPU_CREATED} ms of the operator's CPU for each created WebApp", _cpu("B1", CPU_CREATED)),
    (
        "B2",
        "create: four children, two writes of their revision, at most two status writes, no GET",
        _writes("B1", CHILDREN + REVISION_WRITES),
    ),
    ("B3", "no write; no LIST except the resync", _most("B3", (("writes per hour", 0), ("LISTs of a kind", 2)))),
    ("B4", "p99 under 1 s, no unhealed drift", _most("B4", (("p99", 1.0), ("unhealed", 0)))),
    (
        "B5",
        "one child write, two writes of the revision, at most two status writes, no GET",
        _writes("B5", 1 + REVISION_WRITES),
    ),
    ("B5", f"at most {CPU_CHANGED} ms of the operator's CPU for each changed image", _cpu("B5", CPU_CHANGED)),
    ("B6", "at most two LISTs of a kind, no write", _most("B6", (("LISTs of a kind", 2), ("writes", 0)))),
    ("B6", "3000 WebApps in step within 2 s", _most("B6", (("seconds", 2.0),), size=3000)),
    ("B7", "under 80 MB plus 20 MB for each 1000 WebApps", _memory),
    ("B7", "the same after a restart", _memory_after_restart),
    ("B7", "10,000 WebApps: under 300 MB", _most("B7", (("MB", 300.0),), size=10_000)),
    ("B8", "the next edit is applied within 3 s of a SIGTERM, and within 17 s of a SIGKILL or SIGSTOP", _next_edits),
    ("B8", "no edit is lost, no write of the old leader", _most("B8", (("lost", 0), ("writes of the old leader", 0)))),
    (
        "B9",
        f"quiet WebApps wait at most {QUIET_LIMIT} times as long as without a storm, with up to {STORM_LIMIT} writers",
        _storm,
    ),
    (
        "B10",
        "no exit, recovery within 10 s",
        _most("B10", (("exits", 0), ("seconds until written", 10.0), ("seconds until Ready", 10.0))),
    ),
    ("B10", "written within 2 s of the return of the API server", _most("B10", (("seconds until written", 2.0),))),
    ("B12", "with large foreign objects: in step, under the shipped memory limit", _unmeasured),
)


def verdicts(results: Results) -> str:
    """Return the table of aims."""
    rows, unjudged = [], []
    for benchmark, aim, judge in AIMS:
        verdict = judge(results)
        met = {True: "yes", False: "**no**", None: "not judged" if verdict.unjudged else ""}[verdict.met]
        rows.append([benchmark, aim, verdict.found, met])
        unjudged += [benchmark] if verdict.unjudged else []
    note = f"\n\nNot judged: {' and '.join(unjudged)} were measured before revisions existed." if unjudged else ""
    return table(["", "target", "measured", "met"], rows).replace("---:|", "---|") + note
