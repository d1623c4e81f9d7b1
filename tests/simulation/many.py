"""Runs many seeds in parallel processes."""

import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from simulation.generate import generate
from simulation.run import Outcome, play

_CHUNK = 10


@dataclass
class Batch:
    """The combined results of many seeds."""

    processes: int
    seeds: int = 0
    rounds: int = 0
    seconds: float = 0.0
    """Virtual seconds."""
    spent: float = 0.0
    """Real seconds of all processes together."""
    real: float = 0.0
    leaderless: float = 0.0
    """The longest time without a leader after the last fault of the election, in seconds."""
    failed: list[Outcome] = field(default_factory=list)
    occurred: Counter[str] = field(default_factory=Counter)
    happened: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Add the outcome of one seed."""
        self.seeds += 1
        self.rounds += outcome.rounds
        self.seconds += outcome.seconds
        self.spent += outcome.spent
        self.occurred.update(outcome.occurred)
        self.happened.update(outcome.happened)
        self.met.update(outcome.met)
        self.leaderless = max(self.leaderless, outcome.leaderless)
        if outcome.invariant:
            self.failed.append(outcome)


def many(
    workload: str,
    first: int,
    seeds: int | None,
    seconds: float | None,
    processes: int,
    *,
    stop: int,
    replicas: int | None = None,
    slots: int | None = None,
    tell: Callable[[Outcome], None] = lambda _: None,
) -> Batch:
    """Run seeds until a limit is reached: number of seeds, seconds, or failures."""
    batch, began = Batch(processes), time.monotonic()
    if seeds is None and seconds is None:
        seconds = 60.0
    chunks = _chunks(first, seeds)
    # A forked process has the imports and the hash seed of its parent.
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        playing = partial(_play, workload, replicas, slots)
        for outcomes in pool.imap_unordered(playing, _until(chunks, began, seconds, batch, stop)):
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
        # Without the wait, the pool would take all chunks immediately.
        while sent - batch.seeds > 4 * _CHUNK * batch.processes and not _over(began, seconds, batch, stop):
            time.sleep(0.01)
        if _over(began, seconds, batch, stop):
            return
        sent += len(chunk)
        yield chunk


def _over(began: float, seconds: float | None, batch: Batch, stop: int) -> bool:
    return (seconds is not None and time.monotonic() - began > seconds) or len(batch.failed) >= stop


def _play(workload: str, replicas: int | None, slots: int | None, seeds: range) -> list[Outcome]:
    return [play(generate(seed, workload, replicas, slots)) for seed in seeds]
