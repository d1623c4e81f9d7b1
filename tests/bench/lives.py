"""B0, B1, B2, B5 and B7: the comparison of all peers, each run on its own cluster."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.results import BARE, Measured, percentile
from bench.rig import Rig, counted, writes
from bench.webapps import NEXT_IMAGE
from cluster import AuditEvent
from cluster.progress import Progress

CONCURRENCIES = (1, 4, 16, 64)
CHANGED = 500
DELETED = 100
"""The number of WebApps for B5 and the delete of B2: each takes time, and the cost grows linearly."""


def life(peer: str, size: int, number: int, program: Path | None, progress: Progress) -> list[Measured]:
    """Create `size` WebApps for a peer, and for some sizes change or delete all of them, in round `number`."""
    found: list[Measured] = []

    def measured(benchmark: str, figures: Mapping[str, float], events: Sequence[AuditEvent], void: list[str]) -> None:
        one = Measured(benchmark, peer, size, number, "", figures, counted(events), tuple(void))
        found.append(one)
        progress(line(one))

    with Rig(peer, size, program=program) as rig:
        rig.operator.start()
        idle = rig.memory()
        waves: list[tuple[str, str, dict[str, str]]] = [("B1", "create", {})]
        if size == CHANGED:
            waves.append(("B5", "change", {"image": NEXT_IMAGE}))
        for benchmark, job, options in waves:
            mark, meter = rig.mark(), rig.meter()
            answer = rig.load(job, size, timeout=120 + size, **options)
            figures = {**timings(answer), **meter.figures()}
            before, within = rig.quiet(mark)
            measured(benchmark, figures, before, [*voided(answer, rig, within)])
            if benchmark == "B1":
                measured("B7", {"MB without WebApps": idle, "MB": rig.memory()}, (), [])
        if size == DELETED:
            mark = rig.mark()
            answer = rig.load("delete", size)
            before, within = rig.quiet(mark)
            measured("B2 delete", {"seconds": answer["seconds"]}, before, missing(answer))
    return found


def timings(answer: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a set of changes."""
    latencies = answer["latencies"]
    return {
        "seconds": answer["seconds"],
        "sending": answer["sending"],
        "WebApps per second": len(latencies) / answer["seconds"] if answer["seconds"] else 0.0,
        "p50": percentile(latencies, 0.5),
        "p99": percentile(latencies, 0.99),
        "load CPU": answer["CPU"],
    }


def missing(answer: Mapping[str, Any]) -> list[str]:
    """Return the missing results, shortened."""
    return [f"{len(answer['missing'])} not done, {answer['missing'][0]} say"] if answer["missing"] else []


def voided(answer: Mapping[str, Any], rig: Rig, within: Sequence[AuditEvent]) -> list[str]:
    """Return the reasons for a void run: a wrong final state (O1), or writes without a reason (O3)."""
    reasons = missing(answer) + rig.differences()[:3]
    if writes(within):
        reasons.append(f"in the quiet window: {counted(within)}")
    return reasons


def bare_writes(size: int, number: int, progress: Progress) -> list[Measured]:
    """B0: write children and status of WebApps without an operator, with this number of concurrent requests."""
    found = []
    with Rig(BARE, size * len(CONCURRENCIES)) as rig:
        for index, concurrency in enumerate(CONCURRENCIES):
            rig.load("create-only", size, first=index * size)
            mark, meter = rig.mark(), rig.meter_of_servers()
            answer = rig.load("bare", size, first=index * size, concurrency=concurrency)
            figures = {
                "writes per second": 5 * size / answer["seconds"],
                "p50": percentile(answer["latencies"], 0.5),
                "p99": percentile(answer["latencies"], 0.99),
                "load CPU": answer["CPU"],
                **meter.figures(),
            }
            sent = counted([event for event in mark.events() if event.agent == "bench" and event.verb == "patch"])
            one = Measured("B0", BARE, size, number, f"concurrency {concurrency}", figures, sent)
            found.append(one)
            progress(line(one))
    return found


def line(one: Measured) -> str:
    """Return a progress line."""
    named = " ".join(part for part in (one.benchmark, one.peer, one.case) if part)
    shown = {name: one.figures[name] for name in list(one.figures)[:6]}
    figures = ", ".join(f"{name} {value:.2f}" for name, value in shown.items())
    void = f"; VOID: {'; '.join(one.void)}" if one.void else ""
    return f"{named}, N = {one.size}, round {one.round}: {figures}{void}"
