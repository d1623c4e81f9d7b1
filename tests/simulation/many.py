"""Many seeds, spread over processes."""

import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from simulation.profiles import generate
from simulation.run import Outcome, play

_CHUNK = 10


@dataclass
class Batch:
    """What came of many seeds."""

    processes: int
    seeds: int = 0
    rounds: int = 0
    seconds: float = 0.0
    """Virtual ones."""
    spent: float = 0.0
    """Real ones of all processes together."""
    real: float = 0.0
    failed: list[Outcome] = field(default_factory=list)
    occurred: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Add one."""
        self.seeds += 1
        self.rounds += outcome.rounds
        self.seconds += outcome.seconds
        self.spent += outcome.spent
        self.occurred.update(outcome.occurred)
        self.met.update(outcome.met)
        if outcome.invariant:
            self.failed.append(outcome)


def many(
    first: int,
    seeds: int | None,
    seconds: float | None,
    processes: int,
    *,
    stop: int,
    tell: Callable[[Outcome], None] = lambda _: None,
) -> Batch:
    """Play seeds until so many are done, so many seconds have passed, or so many have failed."""
    batch, began = Batch(processes), time.monotonic()
    if seeds is None and seconds is None:
        seconds = 60.0
    chunks = _chunks(first, seeds)
    # A fork has the imports and the hash seed of its parent.
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for outcomes in pool.imap_unordered(_play, _until(chunks, began, seconds, batch, stop)):
            for outcome in outcomes:
                batch.add(outcome)
                if outcome.invariant:
                    tell(outcome)
        pool.terminate()
    batch.real = time.monotonic() - began
    batch.failed.sort(key=lambda outcome: outcome.seed)
    return batch


def _chunks(first: int, seeds: int | None) -> Iterator[range]:
    start = first
    while seeds is None or start < first + seeds:
        end = start + _CHUNK if seeds is None else min(start + _CHUNK, first + seeds)
        yield range(start, end)
        start = end


def _until(chunks: Iterator[range], began: float, seconds: float | None, batch: Batch, stop: int) -> Iterator[range]:
    sent = 0
    for chunk in chunks:
        # The pool would take all at once.
        while sent - batch.seeds > 4 * _CHUNK * batch.processes and not _over(began, seconds, batch, stop):
            time.sleep(0.01)
        if _over(began, seconds, batch, stop):
            return
        sent += len(chunk)
        yield chunk


def _over(began: float, seconds: float | None, batch: Batch, stop: int) -> bool:
    return (seconds is not None and time.monotonic() - began > seconds) or len(batch.failed) >= stop


def _play(seeds: range) -> list[Outcome]:
    return [play(generate(seed)) for seed in seeds]
