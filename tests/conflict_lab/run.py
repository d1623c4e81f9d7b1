"""The lab: every way, every workload, every number of writers, each on an object of its own."""

import datetime
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cluster import ControlPlane
from cluster.catalog import KUBERNETES
from cluster.progress import Progress
from conflict_lab import template
from conflict_lab.results import Case, Cell, Machine, Meeting, Results, Verdict, judge, lost, percentile
from conflict_lab.template import Thing
from conflict_lab.ways import JSON_PATCH, WAYS, Change, Request, Way, Workload
from conflict_lab.writers import Tally, Targets, connect, targets, write_together

COUNTS = (1, 4, 16, 64)
CELL_SECONDS = 1.0
SERVERS = ("kube-apiserver", "etcd")

_FIRST, _SECOND, _THIRD = "WRITER_0", "WRITER_1", "WRITER_2"


def writers(count: int) -> tuple[str, ...]:
    """Return so many writers' names; each is its field manager and the name of its entry."""
    return tuple(f"WRITER_{number}" for number in range(count))


async def meet(made: Targets, way: Way, case: Case) -> Meeting:
    """Have two writers look at an object, then both write, the first one's change being done before the second's."""
    target = await made.make(_FIRST)
    workload = Workload.OWN if case in (Case.OWN, Case.MOVED) else Workload.SHARED
    if workload is Workload.OWN:
        for writer in (_FIRST, _SECOND, _THIRD):
            await target.send_accepted(way.request(await target.get(), Change(workload, writer)), writer)
    seen = await target.get()
    add = 2 if case is Case.SHARED else 1
    if case is Case.MOVED:
        path = f"/template/spec/containers/0/env/{template.index(seen, _FIRST)}"
        await target.send_accepted(Request(JSON_PATCH, [{"op": "remove", "path": path}]), _FIRST)
    else:
        await target.send_accepted(way.request(seen, Change(workload, _FIRST)), _FIRST)
    before = _numbers(await target.get(), workload)
    answer = await target.send(way.request(seen, Change(workload, _SECOND, add)), _SECOND)
    mine = _SECOND if workload is Workload.OWN else template.COUNTER
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
            found=_numbers(await target.get(), workload),
            third=_THIRD,
        ),
    )


def _numbers(thing: Thing, workload: Workload) -> dict[str, int]:
    return template.entries(thing) if workload is Workload.OWN else {template.COUNTER: template.counter(thing)}


class Processors:
    """How much of the processors the writers' process and the servers have used."""

    def __init__(self, cluster: ControlPlane) -> None:
        self._servers = [pid for name in SERVERS if (pid := cluster.pid(name)) is not None]
        self._client, self._server, self._at = time.process_time(), self._used(), time.monotonic()

    def cores(self) -> tuple[float, float]:
        """Return what the client and the servers have used since, in cores."""
        took = time.monotonic() - self._at
        return (time.process_time() - self._client) / took, (self._used() - self._server) / took

    def _used(self) -> float:
        """Return seconds: user and system time, which stand 12th and 13th after the name in parentheses."""
        texts = [Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2] for pid in self._servers]
        return sum(int(ticks) for text in texts for ticks in text.split()[11:13]) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Trial:
    """What a cell is measured of."""

    way: Way
    workload: Workload
    writers: int
    seconds: float


async def measure(cluster: ControlPlane, made: Targets, trial: Trial) -> Cell:
    """Let so many writers update one object by one way, and count what becomes of it."""
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
        lost=lost(trial.workload, acknowledged, await target.get()),
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
    """Return what is to be known of the machine, as it is now."""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return Machine(str(KUBERNETES.version), today, os.cpu_count() or 1, os.getloadavg()[0], cell_seconds)


async def run(
    cluster: ControlPlane, namespace: str, machine: Machine, progress: Progress, counts: Sequence[int] = COUNTS
) -> Results:
    """Run the whole lab in a namespace. The ways take turns, so that what disturbs one disturbs its neighbours."""
    seconds = machine.cell_seconds
    async with targets(cluster, namespace) as made:
        meetings = [await meet(made, way, case) for way in WAYS for case in Case]
        progress(f"{len(meetings)} meetings of two writers")
        await measure(cluster, made, Trial(WAYS[0], Workload.SHARED, max(counts), 2 * seconds))  # to warm up
        plan = [Trial(way, workload, count, seconds) for workload in Workload for count in counts for way in WAYS]
        cells: list[Cell] = []
        for number, trial in enumerate(plan, start=1):
            cell = await measure(cluster, made, trial)
            cells.append(cell)
            progress(
                f"{number}/{len(plan)} {trial.workload}, {trial.writers} writers, {trial.way.title}:"
                f" {cell.rate:.0f}/s, {cell.lost} of {cell.acknowledged} lost, {cell.refused} refused"
            )
    return Results(replace(machine, load_after=os.getloadavg()[0]), tuple(cells), tuple(meetings))


def to_data(results: Results) -> dict[str, Any]:
    """Return the results as JSON has them."""
    return asdict(results)


def from_data(data: dict[str, Any]) -> Results:
    """Return the results that were kept."""
    cells = [Cell(**{**cell, "workload": Workload(cell["workload"])}) for cell in data["cells"]]
    meetings = [_meeting(each) for each in data["meetings"]]
    return Results(Machine(**data["machine"]), tuple(cells), tuple(meetings))


def _meeting(data: dict[str, Any]) -> Meeting:
    found = {"case": Case(data["case"]), "verdict": Verdict(data["verdict"]), "causes": tuple(data["causes"])}
    return Meeting(**{**data, **found})
