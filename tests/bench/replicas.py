"""B11: several replicas of coxswain share the WebApps by slots: creation, and the loss and return of one replica."""

import re
import time
from contextlib import ExitStack
from math import ceil
from pathlib import Path
from signal import Signals

from bench.lives import line, missing, timings
from bench.meter import Meter, cpu_seconds, memory
from bench.results import COXSWAIN, Measured
from bench.rig import Rig, counted, writes
from cluster.operator_process import OperatorProcess
from cluster.progress import Progress
from cluster.readiness import wait_until

ROLE = Path(__file__).parents[2] / "manifests/components/slots/role.yaml"
NUMBERS = (1, 2, 3)
"""The numbers of replicas."""
SLOTS = 6
"""Divisible by each number of replicas."""
BALANCED_SECONDS = 120.0
LOSS_AFTER_SECONDS = 5.0
LOSS_SECONDS = 40.0
"""Duration of the edits around the loss: more than twice the duration of the Lease."""
_HELD = re.compile(r'^leader_election_master_status\{name="[^"]*"\} 1(\.0)?$', re.MULTILINE)


class Replicas:
    """Some replicas in one rig, within the context."""

    def __init__(self, rig: Rig, number: int) -> None:
        """Prepare `number` replicas."""
        flags = ("--leader-elect", "--leader-elect-namespace", "coxswain-system", "--slots", str(SLOTS))
        grant = ("--namespace", "coxswain-system", "patch", "role", "coxswain-leader-election")
        rig.cluster.kubectl(*grant, "--type=json", "--patch-file", str(ROLE))
        logs = rig.cluster.directory / "logs"
        self._rig = rig
        self.processes = [
            OperatorProcess(rig.kubeconfig, logs / f"replica-{each}.log", flags) for each in range(number)
        ]

    def __enter__(self) -> "Replicas":
        for each in self.processes:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.processes:
            each.stop()

    @property
    def pids(self) -> dict[str, int]:
        """The process ids of those that run, by name."""
        found = {f"replica {number}": each.pid for number, each in enumerate(self.processes)}
        return {name: pid for name, pid in found.items() if pid is not None}

    def await_balance(self) -> float:
        """Wait until all slots are held and no replica has more than its share; return the seconds."""
        started = time.monotonic()
        wait_until("the slots are balanced", self._balanced, [], BALANCED_SECONDS)
        return time.monotonic() - started

    def _balanced(self) -> bool:
        running = [each for each in self.processes if each.running]
        held = [len(_HELD.findall(each.metrics()[1])) for each in running]
        return sum(held) == SLOTS and max(held) <= ceil(SLOTS / len(running))


def shared(size: int, number: int, replicas: int, progress: Progress) -> list[Measured]:
    """Measure `size` WebApps with a number of replicas, in round `number`."""
    with ExitStack() as stack:
        rig = stack.enter_context(Rig(COXSWAIN, size))
        group = stack.enter_context(Replicas(rig, replicas))
        group.await_balance()
        mark, meter, servers = rig.mark(), Meter(group.pids), rig.meter_of_servers()
        answer = rig.load("create", size, timeout=120 + size)
        used = meter.figures()
        figures = {
            **timings(answer),
            "operator CPU of all": sum(used[f"{name} CPU"] for name in group.pids),
            "operator CPU of one": max(used[f"{name} CPU"] for name in group.pids),
            "API server CPU": servers.figures()["API server CPU"],
            "MB of one": max(memory(pid) for pid in group.pids.values()),
        }
        events, within = rig.quiet(mark)
        # Renewals of the Leases never end.
        within = [each for each in within if each.resource != "leases"]
        void = [*missing(answer), *rig.differences()[:3], *([f"{counted(within)}"] if writes(within) else [])]
        figures |= _loss(rig, group)
        case = f"N = {size}, {replicas} replicas"
        measured = Measured("B11", COXSWAIN, size, number, case, figures, counted(events), tuple(void))
        progress(line(measured))
        return [measured]


def _loss(rig: Rig, group: Replicas) -> dict[str, float]:
    """Kill a replica while someone edits a child each second; start it again; return the figures."""
    load = rig.start_load("heal", 100, seconds=LOSS_SECONDS)
    time.sleep(LOSS_AFTER_SECONDS)  # edits before the loss
    lost = group.processes[0]
    lost.stop(Signals.SIGKILL)
    if len(group.processes) == 1:
        of_start, answer = _start(lost, group), rig.loaded(load)
    else:
        answer, of_start = rig.loaded(load), _start(lost, group)
    return {"slowest edit around the loss": max(answer["latencies"]), "unhealed": answer["unhealed"], **of_start}


def _start(replica: OperatorProcess, group: Replicas) -> dict[str, float]:
    """Start a replica, wait until its cache is complete and the slots are balanced, and return the figures."""
    started = time.monotonic()
    replica.start()
    synced = time.monotonic() - started
    assert replica.pid is not None
    return {
        "seconds until synced again": synced,
        "seconds until balanced again": group.await_balance(),
        "operator CPU of the start": cpu_seconds(replica.pid),
    }
