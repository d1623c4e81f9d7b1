"""`make bench-quick`: B1 with few WebApps, compared with the bare writer, for developers."""

from pathlib import Path

from bench.lives import line
from bench.results import BARE, COXSWAIN, Measured, chosen, load, percentile, ratios, spread
from bench.rig import Rig, counted
from cluster.progress import Progress

SIZE = 50
ROUNDS = 3


def quick(recorded: Path, progress: Progress) -> int:
    """Measure, print the ratios next to the recorded ones, and return the exit code."""
    found: list[Measured] = []
    for number in range(1, ROUNDS + 1):
        peers = (COXSWAIN, BARE) if number % 2 else (BARE, COXSWAIN)
        for peer in peers:
            one = _converge(peer, number)
            progress(line(one))
            found.append(one)
    progress(summary(found, recorded))
    return int(any(each.void for each in found))


def _converge(peer: str, number: int) -> Measured:
    with Rig(peer, SIZE) as rig:
        rig.operator.start()
        mark, meter = rig.mark(), rig.meter()
        answer = rig.load("create", SIZE)
        before, _ = rig.quiet(mark, 0.0)
        figures = {"seconds": answer["seconds"], "p99": percentile(answer["latencies"], 0.99), **meter.figures()}
        void = (*rig.differences()[:3], *(["not all were done"] if answer["missing"] else []))
        return Measured("B1", peer, SIZE, number, "", figures, counted(before), void)


def summary(found: list[Measured], recorded: Path) -> str:
    """Return the ratio to the bare writer, the ratio in docs/benchmarks.json, and the requests for each WebApp."""
    own = ratios(found, "seconds", BARE)
    if not own:
        return "no round counts: nothing to compare"
    now = spread(own)
    text = f"T / T(bare writer), N = {SIZE}: median {now.median:.2f} ({now.low:.2f} to {now.high:.2f})"
    if recorded.exists():
        kept = load(recorded)
        known = [each for each in chosen(kept, "B1", size=100) if each.peer in (COXSWAIN, BARE)]
        before = ratios(known, "seconds", BARE)
        if before:
            past = spread(before)
            text += (
                f"; recorded on {kept.machine.date} with N = 100: median {past.median:.2f}"
                f" ({past.low:.2f} to {past.high:.2f})"
            )
    (last, *_) = [each for each in reversed(found) if each.peer == COXSWAIN]
    requests = ", ".join(f"{name} {count / SIZE:.2f}" for name, count in sorted(last.requests.items()))
    return f"{text}\nrequests for each WebApp: {requests}"
