"""The tables of docs/benchmarks.md. Pure."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import median

from bench.results import BARE, CONTROLLER_RUNTIME, COXSWAIN, PEERS, Measured, Results, chosen, ratios, spread

_EVENTS = "create events"


def counting(measured: Iterable[Measured]) -> list[Measured]:
    """Return the valid runs."""
    return [each for each in measured if not each.void]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table: the first column is text, the others are figures."""
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def figure(measured: Iterable[Measured], name: str) -> str:
    """Return median, minimum and maximum of a figure."""
    values = [each.figures[name] for each in measured if name in each.figures]
    return _spread(values) if values else "-"


def _spread(values: Sequence[float]) -> str:
    found = spread(values)
    if len(values) == 1:
        return number(found.median)
    return f"{number(found.median)} ({number(found.low)} to {number(found.high)})"


def number(value: float) -> str:
    """Return a number with about three digits."""
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value)}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def ratio(measured: Sequence[Measured], peer: str, over: str, name: str = "seconds") -> str:
    """Return the ratios of two peers' figures, round by round; `measured` has one benchmark and size."""
    found = ratios([each for each in measured if each.peer in (peer, over)], name, over)
    return _spread(found) if found and peer != over else "1" if peer == over else "-"


def sizes(results: Results, benchmark: str) -> list[int]:
    """Return the numbers of WebApps in the runs of a benchmark."""
    return sorted({each.size for each in chosen(results, benchmark)})


def waves(results: Results, benchmark: str) -> str:
    """Return the tables of B1 or B5: one for each size, a row for each peer."""
    parts = []
    for size in sizes(results, benchmark):
        all_of_it = counting(chosen(results, benchmark, size=size))
        rows = []
        for peer in PEERS:
            found = [each for each in all_of_it if each.peer == peer]
            if not found:
                continue
            rows.append(
                [
                    peer,
                    *(figure(found, name) for name in ("seconds", "WebApps per second", "p50", "p99")),
                    ratio(all_of_it, peer, BARE),
                    ratio(all_of_it, peer, CONTROLLER_RUNTIME),
                    *(_median(found, f"{name} CPU") for name in ("operator", "API server", "etcd")),
                    *(_median(found, f"{name} peak MB") for name in ("operator", "API server", "etcd")),
                ]
            )
        head = ["peer", "seconds", "WebApps/s", "p50", "p99", "T / T(bare)", "T / T(controller-runtime)"]
        head += [f"{name} CPU s" for name in ("operator", "API server", "etcd")]
        head += [f"{name} MB" for name in ("operator", "API server", "etcd")]
        parts.append(f"N = {size}\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def _median(measured: Sequence[Measured], name: str) -> str:
    values = [each.figures[name] for each in measured if name in each.figures]
    return number(median(values)) if values else "-"


def requests(results: Results, benchmark: str) -> str:
    """Return a table of the requests for each WebApp, by peer, at the largest size."""
    known = sizes(results, benchmark)
    if not known:
        return "(not measured)"
    of_peers = {
        peer: counting(chosen(results, benchmark, peer=peer, size=known[-1]))
        for peer in PEERS
        if counting(chosen(results, benchmark, peer=peer, size=known[-1]))
    }
    names = sorted({name for found in of_peers.values() for each in found for name in each.requests if name != _EVENTS})
    rows = [[name, *(per_webapp(found, partial(_count_of, name)) for found in of_peers.values())] for name in names]
    without = [per_webapp(found, _without_events) for found in of_peers.values()]
    events = [per_webapp(found, partial(_count_of, _EVENTS)) for found in of_peers.values()]
    rows += [["**all, Events apart**", *without], ["Events", *events]]
    return f"N = {known[-1]}\n\n{table(['request', *of_peers], rows)}"


def _count_of(name: str, one: Measured) -> int:
    return one.requests.get(name, 0)


def _without_events(one: Measured) -> int:
    return sum(count for name, count in one.requests.items() if name != _EVENTS)


def per_webapp(measured: Sequence[Measured], count: Callable[[Measured], int]) -> str:
    """Return the median per WebApp of a count."""
    return number(round(median(count(each) / each.size for each in measured), 2))


def rows_of(results: Results, benchmark: str, names: Sequence[str], *, label: str = "case") -> str:
    """Return a table of coxswain's figures, or else the bare writer's: a row for each size and case."""
    found = counting(chosen(results, benchmark, peer=COXSWAIN)) or counting(chosen(results, benchmark, peer=BARE))
    places: dict[tuple[int, str], list[Measured]] = {}
    for each in found:
        places.setdefault((each.size, each.case), []).append(each)
    rows = [
        [case or f"N = {size}", *(figure(measured, name) for name in names)]
        for (size, case), measured in sorted(places.items(), key=lambda item: (item[0][0], _natural(item[0][1])))
    ]
    return table([label, *names], rows) if rows else "(not measured)"


def _natural(case: str) -> tuple[int, str]:
    digits = "".join(character for character in case if character.isdigit())
    return int(digits or 0), case
