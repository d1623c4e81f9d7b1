"""What was aimed at, what came, and whether that is enough. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.results import BARE, CONTROLLER_RUNTIME, COXSWAIN, Measured, Results, chosen, ratios
from bench.tables import counting, number, table

CHILDREN = 4
STATUS_WRITES = 2
RATIO_SIZE = 500


@dataclass(frozen=True)
class Verdict:
    """What came of one aim; `met` is None where nothing counts, or no bound was set."""

    found: str
    met: bool | None


Judge = Callable[[Results], Verdict]
_NOTHING = Verdict("not measured", None)


def _own(results: Results, benchmark: str, size: int | None = None) -> list[Measured]:
    return counting(chosen(results, benchmark, peer=COXSWAIN, size=size))


def _ratio(over: str, limit: float | None) -> Judge:
    def judge(results: Results) -> Verdict:
        found = ratios(
            [each for each in chosen(results, "B1", size=RATIO_SIZE) if each.peer in (COXSWAIN, over)], "seconds", over
        )
        if not found:
            return _NOTHING
        value = median(found)
        return Verdict(f"{value:.2f} ({min(found):.2f} to {max(found):.2f})", None if limit is None else value <= limit)

    return judge


def _bare_with_operator(results: Results) -> Verdict:
    measured = chosen(results, "B1", size=RATIO_SIZE)
    found = ratios(
        [each for each in measured if each.peer in (BARE, CONTROLLER_RUNTIME)], "seconds", CONTROLLER_RUNTIME
    )
    return Verdict(f"{median(found):.2f}", None) if found else _NOTHING


def _writes(benchmark: str, children: int) -> Judge:
    def judge(results: Results) -> Verdict:
        found = _own(results, benchmark)
        if not found:
            return _NOTHING
        per = [
            {name: count / each.size for name, count in each.requests.items() if name != "create events"}
            for each in found
        ]
        status = max(each.get("patch webapps/status", 0.0) for each in per)
        reads = max(sum(count for name, count in each.items() if name.startswith("get ")) for each in per)
        rest = max(sum(count for name, count in each.items() if name.startswith(("patch", "create"))) for each in per)
        told = f"at most {number(rest - status)} child writes, {number(status)} status writes, {number(reads)} GETs"
        return Verdict(told, rest - status <= children and status <= STATUS_WRITES and not reads)

    return judge


def _most(benchmark: str, bounds: Sequence[tuple[str, float]]) -> Judge:
    def judge(results: Results) -> Verdict:
        found = _own(results, benchmark)
        if not found:
            return _NOTHING
        worst = {name: max(each.figures.get(name, 0.0) for each in found) for name, _ in bounds}
        told = ", ".join(f"{name} {number(value)}" for name, value in worst.items())
        return Verdict(told, all(worst[name] <= bound for name, bound in bounds))

    return judge


def _memory(results: Results) -> Verdict:
    found = [each for each in _own(results, "B7") if "peak MB" in each.figures]
    if not found:
        return _NOTHING
    told = ", ".join(f"{each.figures['MB']:.0f} MB at N = {each.size}" for each in found)
    return Verdict(told, all(each.figures["MB"] < 80 + 20 * each.size / 1000 for each in found))


def _storm(results: Results) -> Verdict:
    found = _own(results, "B9")
    worst: list[float] = []
    for each in found:
        aside = [one for one in found if one.case == f"{each.case} aside" and one.round == each.round]
        worst += [each.figures["p99 until written"] / one.figures["p99 until written"] for one in aside]
    if not worst:
        return _NOTHING
    told = f"p99 of the quiet ones over that with the storm aside: {median(worst):.2f}, at most {max(worst):.2f}"
    return Verdict(told, median(worst) <= 1.1)


AIMS: Sequence[tuple[str, str, Judge]] = (
    ("B1", f"N = {RATIO_SIZE}: within 1.1 of the bare writer", _ratio(BARE, 1.1)),
    ("B1", "towards 1.0 of controller-runtime", _ratio(CONTROLLER_RUNTIME, None)),
    ("B1", "the bare writer over controller-runtime, for comparison", _bare_with_operator),
    ("B2", "create: four children, at most two status writes, no GET", _writes("B1", CHILDREN)),
    ("B3", "no write; no LIST but the resync's", _most("B3", (("writes per hour", 0), ("LISTs of a kind", 2)))),
    ("B4", "p99 under 1 s, none unhealed", _most("B4", (("p99", 1.0), ("unhealed", 0)))),
    ("B5", "one child write, at most two status writes, no GET", _writes("B5", 1)),
    ("B6", "at most two LISTs of a kind, no write", _most("B6", (("LISTs of a kind", 2), ("writes", 0)))),
    ("B7", "under 80 MB and 20 MB for each 1000", _memory),
    ("B9", "the quiet ones as fast as without the storm", _storm),
    (
        "B10",
        "no exit, recovered in 10 s",
        _most("B10", (("exits", 0), ("seconds until written", 10.0), ("seconds until Ready", 10.0))),
    ),
)


def verdicts(results: Results) -> str:
    """Return the table of aims."""
    rows = []
    for benchmark, aim, judge in AIMS:
        verdict = judge(results)
        met = {True: "yes", False: "**no**", None: ""}[verdict.met]
        rows.append([benchmark, aim, verdict.found, met])
    return table(["", "aim", "measured", "met"], rows).replace("---:|", "---|")
