"""CPU profile of the operator: stack samples of py-spy, grouped by purpose of the code."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from signal import Signals

from bench.meter import cpu_seconds
from bench.results import COXSWAIN
from bench.rig import QUIET_SECONDS, Rig
from cluster.processes import clean_environment
from cluster.progress import Progress
from cluster.readiness import wait_until

RATE = 100
"""Samples per second."""
CONVERGED, RESTARTED = 500, 1000
PARTS: Mapping[str, tuple[str, ...]] = {
    "TLS": ("ssl.py", "asyncio/sslproto.py"),
    "JSON": ("json/__init__.py", "json/encoder.py", "json/decoder.py", "json/scanner.py"),
    "Kopf": ("kopf/",),
    "deciding: store, manifests, compare, status": (
        "coxswain/webapp/",
        "coxswain/kernel/objects/",
        "coxswain/kernel/conflicts/",
        "coxswain/kernel/cache/",
        "coxswain/kernel/reconciling/",
        "coxswain/kernel/status/",
        "coxswain/kernel/watching/",
        "coxswain/kernel/manager.py",
    ),
    "HTTP: kubernetes.aio, aiohttp": ("kubernetes/", "aiohttp/", "yarl/", "multidict/", "coxswain/kernel/api/"),
    "the event loop": ("asyncio/",),
}
"""The group of a frame, by its file; the innermost frame with a group decides for the sample."""
OTHERS = "others"
IMPORTS = "imports"
"""CPU time of a start before the first sample."""
START_SECONDS = 30.0
WAITING = "waiting"
_ASLEEP = "select (selectors.py"
"""A thread that has just woken up or is about to sleep: py-spy counts it as busy if the processors are busy."""


def profiles(progress: Progress) -> dict[str, dict[str, float]]:
    """Return the operator's CPU seconds by part, for B1 and B6; report the reason and return nothing without py-spy."""
    found: dict[str, dict[str, float]] = {}
    with Rig(COXSWAIN, RESTARTED) as rig:
        rig.operator.start()
        with _sampled(rig, progress) as samples:
            rig.load("create", CONVERGED)
        found[f"B1, N = {CONVERGED}"] = samples
        rig.load("create", RESTARTED - CONVERGED, first=CONVERGED)
        rig.operator.stop(Signals.SIGKILL)
        log = rig.cluster.directory / "logs" / "operator.log"
        length = log.stat().st_size
        rig.operator.start(wait=False)
        wait_until("the imports", lambda: "probes at" in log.read_text(encoding="utf-8")[length:], [], START_SECONDS)
        imports = cpu_seconds(rig.pid)
        with _sampled(rig, progress) as samples:
            rig.operator.start()
            time.sleep(QUIET_SECONDS)  # the length of the profile after the start
        found[f"B6, N = {RESTARTED}"] = {IMPORTS: imports} | samples if samples else {}
    return {name: samples for name, samples in found.items() if samples}


@contextmanager
def _sampled(rig: Rig, progress: Progress) -> Iterator[dict[str, float]]:
    """Sample the operator's stacks during the block; the yielded dict is filled at its end."""
    result: dict[str, float] = {}
    file = rig.cluster.directory / "stacks.txt"
    program = Path(sys.executable).with_name("py-spy")
    command = [str(program), "record", "--pid", str(rig.pid), "--rate", str(RATE), "--format", "raw"]
    sampler = subprocess.Popen(
        [*command, "--output", str(file)],
        env=clean_environment(rig.cluster.directory),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    before, started = cpu_seconds(rig.pid), time.monotonic()
    yield result
    used, took = cpu_seconds(rig.pid) - before, time.monotonic() - started
    sampler.send_signal(Signals.SIGINT)
    _, told = sampler.communicate()
    if not file.exists():
        progress(f"no profile: py-spy says {told.decode(errors='replace').strip()}")
        return
    samples = sorted_by_part(file.read_text(encoding="utf-8"))
    total = sum(samples.values())
    result |= {part: used * count / total for part, count in samples.items()} | {WAITING: took - used}


def sorted_by_part(stacks: str) -> Counter[str]:
    """Count samples by PARTS, from py-spy's raw format: lines of `outermost;...;innermost count`."""
    found: Counter[str] = Counter()
    for line in stacks.splitlines():
        stack, _, count = line.rpartition(" ")
        if _ASLEEP not in stack.rpartition(";")[2]:
            found[_part(stack.split(";"))] += int(count)
    return found


def _part(frames: list[str]) -> str:
    for frame in reversed(frames):
        for part, files in PARTS.items():
            if any(file in frame for file in files):
                return part
    return OTHERS
