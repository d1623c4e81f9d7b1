"""Runs many seeds in parallel processes."""

import gc
import multiprocessing
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from simulation import workloads
from simulation.generate import generate
from simulation.run import Outcome, play

_CHUNK = 10
_CHUNKS_OF_A_PROCESS = 3
"""The chunk that a process plays, and those that wait for it."""

_ALLOCATIONS = 10_000
"""Allocations until the garbage collector visits the newest objects. More of them take memory and save no time."""


class ProcessEnded(Exception):
    """A process ended while it played a seed."""


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
    """Run seeds until a limit is reached: number of seeds, seconds, or failures.

    Raises:
        ProcessEnded: a process was killed, or crashed.
    """
    batch, began = Batch(processes), time.monotonic()
    if seeds is None and seconds is None:
        seconds = 60.0
    chunks, playing = _chunks(first, seeds), partial(_play, workload, replicas, slots)
    running: dict[Future[list[Outcome]], range] = {}
    # A forked process has the imports and the hash seed of its parent.
    fork = multiprocessing.get_context("fork")
    with _killing(ProcessPoolExecutor(processes, fork, _prepare_process, (workload,))) as pool:
        while True:
            while len(running) < _CHUNKS_OF_A_PROCESS * processes and not _over(began, seconds, batch, stop):
                chunk = next(chunks, None)
                if chunk is None:
                    break
                with _interrupts_delayed():
                    running[pool.submit(playing, chunk)] = chunk
            if not running:
                break
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                _add(batch, _outcomes(done, running), tell)
                del running[done]
    batch.real = time.monotonic() - began
    batch.failed.sort(key=lambda outcome: outcome.seed)
    return batch


@contextmanager
def _interrupts_delayed() -> Iterator[None]:
    """Delay an interrupt until the end: while a process is forked, Python would lose it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _killing(pool: ProcessPoolExecutor) -> Iterator[ProcessPoolExecutor]:
    """Shut a pool down. After an error, such as an interrupt, do not wait for the seeds that it plays."""
    try:
        yield pool
    except BaseException:
        for process in multiprocessing.active_children():
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _outcomes(done: Future[list[Outcome]], running: dict[Future[list[Outcome]], range]) -> list[Outcome]:
    try:
        return done.result()
    except BrokenProcessPool:
        seeds = [seed for chunk in running.values() for seed in chunk]
        raise ProcessEnded(
            f"a process was killed or crashed in one of the seeds {min(seeds)} to {max(seeds)}"
        ) from None


def _add(batch: Batch, outcomes: list[Outcome], tell: Callable[[Outcome], None]) -> None:
    for outcome in outcomes:
        batch.add(outcome)
        if outcome.invariant:
            tell(outcome)


def _prepare_process(workload: str) -> None:
    # Ctrl-C reaches all processes of the terminal. The first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    workloads.workload(workload)
    # The garbage collector need not visit imported objects, and need not run after each 700 allocations.
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS)


def _chunks(first: int, seeds: int | None) -> Iterator[range]:
    start = first
    while seeds is None or start < first + seeds:
        end = start + _CHUNK if seeds is None else min(start + _CHUNK, first + seeds)
        yield range(start, end)
        start = end


def _over(began: float, seconds: float | None, batch: Batch, stop: int) -> bool:
    return (seconds is not None and time.monotonic() - began > seconds) or len(batch.failed) >= stop


def _play(workload: str, replicas: int | None, slots: int | None, seeds: range) -> list[Outcome]:
    return [play(generate(seed, workload, replicas, slots)) for seed in seeds]
