"""B11: several replicas of coxswain share the WebApps by slots: creation, and the loss and return of one replica."""

import time
from contextlib import ExitStack
from dataclasses import replace
from signal import Signals

from bench.lives import line, missing, timings
from bench.meter import Meter, cpu_seconds, memory
from bench.replica_group import OperatorGroup, ReplicaGroup
from bench.results import COXSWAIN, Measured
from bench.rig import Rig, counted, writes
from bench.webapps import NAMESPACES
from cluster.operator_process import OperatorProcess
from cluster.progress import Progress

NUMBERS = (1, 2, 3)
"""The numbers of replicas."""
SLOTS = 6
"""Divisible by each number of replicas."""
OPERATORS = 3
"""The number of operators of separate namespaces."""
LOSS_AFTER_SECONDS = 5.0
LOSS_SECONDS = 40.0
"""Duration of the edits around the loss: more than twice the duration of the Lease."""


def shared(size: int, number: int, replicas: int, progress: Progress) -> list[Measured]:
    """Measure `size` WebApps with a number of replicas, in round `number`."""
    with ExitStack() as stack:
        rig = stack.enter_context(Rig(COXSWAIN, size))
        group = stack.enter_context(ReplicaGroup(rig, replicas, slots=SLOTS))
        group.await_balance()
        created = _creation(rig, group, size, number, f"N = {size}, {replicas} replicas")
        measured = replace(created, figures={**created.figures, **_loss(rig, group)})
        progress(line(measured))
        return [measured]


def separate(size: int, number: int, progress: Progress) -> list[Measured]:
    """Measure `size` WebApps with three operators, each of a third of the namespaces.

    Slots could gain no more if the server selected the objects of each replica. These operators cannot take over.
    """
    flags = [[f"--namespace={each}" for each in NAMESPACES[first::OPERATORS]] for first in range(OPERATORS)]
    with ExitStack() as stack:
        rig = stack.enter_context(Rig(COXSWAIN, size))
        group = stack.enter_context(OperatorGroup(rig, flags))
        measured = _creation(rig, group, size, number, f"N = {size}, {OPERATORS} operators of separate namespaces")
        progress(line(measured))
        return [measured]


def _creation(rig: Rig, group: OperatorGroup, size: int, number: int, case: str) -> Measured:
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
    return Measured("B11", COXSWAIN, size, number, case, figures, counted(events), tuple(void))


def _loss(rig: Rig, group: ReplicaGroup) -> dict[str, float]:
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


def _start(replica: OperatorProcess, group: ReplicaGroup) -> dict[str, float]:
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
