"""Runs the lab: each write method, workload and number of writers, each on its own object."""

import datetime
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cluster import ControlPlane
from cluster.catalog import KUBERNETES
from cluster.progress import Progress
from conflict_lab.results import Case, Cell, Machine, Meeting, Results, Verdict, judge, lost, percentile
from conflict_lab.subject import COUNTER, CRD, STATUS, TEMPLATE, Subject, Thing
from conflict_lab.ways import JSON_PATCH, WAYS, Change, Request, Way, Workload, accepted, named
from conflict_lab.writers import Tally, Targets, connect, targets, write_together
from fault_engine.results import commit

COUNTS = (1, 4, 16, 64)
STATUS_COUNTS = (1, 16)
CELL_SECONDS = 1.0
SERVERS = ("kube-apiserver", "etcd")

_FIRST, _SECOND, _THIRD = "WRITER_0", "WRITER_1", "WRITER_2"


def writers(count: int) -> tuple[str, ...]:
    """Return the names of `count` writers; each name is a field manager and the name of an entry."""
    return tuple(f"WRITER_{number}" for number in range(count))


async def meet(made: Targets, way: Way, case: Case) -> Meeting:
    """Let two writers read an object, then write; the second writes after the first has succeeded.

    If the API server refuses the way for this kind of object, only the second writer uses it.
    """
    target, subject = await made.make(_FIRST), made.subject
    possible = way if way in accepted(subject) else named("apply-force")
    workload = Workload.OWN if case in (Case.OWN, Case.MOVED) else Workload.SHARED
    if workload is Workload.OWN:
        for writer in (_FIRST, _SECOND, _THIRD):
            change = Change(workload, writer, subject=subject)
            await target.send_accepted(possible.request(await target.get(), change), writer)
    seen = await target.get()
    add = 2 if case is Case.SHARED else 1
    if case is Case.MOVED:
        path = f"{subject.list_pointer}/{subject.index(seen, _FIRST)}"
        await target.send_accepted(Request(JSON_PATCH, [{"op": "remove", "path": path}]), _FIRST)
    else:
        await target.send_accepted(possible.request(seen, Change(workload, _FIRST, subject=subject)), _FIRST)
    before = _numbers(subject, await target.get(), workload)
    answer = await target.send(way.request(seen, Change(workload, _SECOND, add, subject)), _SECOND)
    mine = _SECOND if workload is Workload.OWN else COUNTER
    return Meeting(
        way=way.name,
        case=case,
        status=answer.status,
        reason=answer.reason,
        causes=answer.causes,
        verdict=judge(
            accepted=answer.accepted,
            before=before,
            wanted={**before, mine: before[mine] + add},
            found=_numbers(subject, await target.get(), workload),
            third=_THIRD,
        ),
    )


def _numbers(subject: Subject, thing: Thing, workload: Workload) -> dict[str, int]:
    return subject.entries(thing) if workload is Workload.OWN else {COUNTER: subject.counter(thing)}


class Processors:
    """CPU use of the writers' process and of the servers."""

    def __init__(self, cluster: ControlPlane) -> None:
        self._servers = [pid for name in SERVERS if (pid := cluster.pid(name)) is not None]
        self._client, self._server, self._at = time.process_time(), self._used(), time.monotonic()

    def cores(self) -> tuple[float, float]:
        """Return the cores used since creation, by the client and by the servers."""
        took = time.monotonic() - self._at
        return (time.process_time() - self._client) / took, (self._used() - self._server) / took

    def _used(self) -> float:
        """Return the CPU seconds: user and system time are fields 12 and 13 after the name in parentheses."""
        texts = [Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2] for pid in self._servers]
        return sum(int(ticks) for text in texts for ticks in text.split()[11:13]) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Trial:
    """The parameters of a cell."""

    way: Way
    workload: Workload
    writers: int
    seconds: float


async def measure(cluster: ControlPlane, made: Targets, trial: Trial) -> Cell:
    """Let `writers` update one object with one write method, and count the results."""
    names = writers(trial.writers)
    target = await made.make(names[0])
    await connect(target, len(names))
    processors, began = Processors(cluster), time.monotonic()
    tallies = await write_together(target, trial.way, trial.workload, names, trial.seconds)
    took, (client, server) = time.monotonic() - began, processors.cores()
    acknowledged = {name: len(tally.latencies) for name, tally in tallies.items()}
    latencies = [latency for tally in tallies.values() for latency in tally.latencies]

    def total(count: Callable[[Tally], int]) -> int:
        return sum(map(count, tallies.values()))

    return Cell(
        way=trial.way.name,
        workload=trial.workload,
        writers=len(names),
        seconds=took,
        acknowledged=sum(acknowledged.values()),
        lost=lost(trial.workload, acknowledged, await target.get(), made.subject),
        conflicts=total(lambda tally: tally.conflicts),
        with_causes=total(lambda tally: tally.with_causes),
        unprocessable=total(lambda tally: tally.unprocessable),
        timeouts=total(lambda tally: tally.timeouts),
        retries=total(lambda tally: tally.retries),
        reads=total(lambda tally: tally.reads),
        writes=total(lambda tally: tally.writes),
        p99=percentile(latencies, 99),
        shut_out=sum(not count for count in acknowledged.values()),
        client=client,
        server=server,
    )


def this_machine(cell_seconds: float) -> Machine:
    """Return a description of this machine and its current load."""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    return Machine(str(KUBERNETES.version), today, cores, load, cell_seconds, commit=commit())


def install(cluster: ControlPlane) -> None:
    """Install the custom resource of the lab."""
    cluster.kubectl("apply", "-f", "-", input=json.dumps(CRD))
    cluster.wait_for_crds()


async def run(
    cluster: ControlPlane,
    namespace: str,
    machine: Machine,
    progress: Progress,
    *,
    counts: Sequence[int] = COUNTS,
    subject: Subject = TEMPLATE,
) -> Results:
    """Run the lab in one namespace. The methods alternate, so that a disturbance affects all of them equally."""
    seconds = machine.cell_seconds
    async with targets(cluster, namespace, subject) as made:
        meetings = [await meet(made, way, case) for way in WAYS for case in Case]
        progress(f"{len(meetings)} meetings of two writers of {subject.kind}{subject.subresource}")
        await measure(cluster, made, Trial(WAYS[0], Workload.SHARED, max(counts), 2 * seconds))  # to warm up
        ways = accepted(subject)
        plan = [Trial(way, workload, count, seconds) for workload in Workload for count in counts for way in ways]
        cells: list[Cell] = []
        for number, trial in enumerate(plan, start=1):
            cell = await measure(cluster, made, trial)
            cells.append(cell)
            progress(
                f"{number}/{len(plan)} {trial.workload}, {trial.writers} writers, {trial.way.title}:"
                f" {cell.rate:.0f}/s, {cell.lost} of {cell.acknowledged} lost, {cell.refused} refused"
            )
    return Results(replace(machine, load_after=os.getloadavg()[0]), tuple(cells), tuple(meetings))


async def run_on_status(
    cluster: ControlPlane,
    namespace: str,
    machine: Machine,
    progress: Progress,
    *,
    counts: Sequence[int] = STATUS_COUNTS,
) -> Results:
    """Run the lab on the status of a custom resource."""
    install(cluster)
    return await run(cluster, namespace, machine, progress, counts=counts, subject=STATUS)


def to_data(results: Results) -> dict[str, Any]:
    """Return the results in JSON types."""
    return asdict(results)


def from_data(data: dict[str, Any]) -> Results:
    """Return stored results."""
    cells = [Cell(**{**cell, "workload": Workload(cell["workload"])}) for cell in data["cells"]]
    meetings = [_meeting(each) for each in data["meetings"]]
    return Results(Machine(**data["machine"]), tuple(cells), tuple(meetings))


def _meeting(data: dict[str, Any]) -> Meeting:
    found = {"case": Case(data["case"]), "verdict": Verdict(data["verdict"]), "causes": tuple(data["causes"])}
    return Meeting(**{**data, **found})
