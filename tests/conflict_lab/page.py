"""docs/conflicts.md: the results of a run as a page. Pure."""

import math
import textwrap
from collections.abc import Sequence

from conflict_lab.lessons import lesson
from conflict_lab.results import BUSY, Case, Cell, Meeting, Results, Verdict
from conflict_lab.ways import WAYS, Way, Workload, named

LINE = 120

TEXT = """\
# Conflicts

*Made by `make conflict-lab` from one run: change tests/conflict_lab/page.py, not this.*

What becomes of an object that many write to, by each way that the API server has of writing. {date}, Kubernetes
{kubernetes} with etcd writing through to the disk, {cores} cores for servers and writers together, load {load:.1f} in
the minute before and {load_after:.1f} in its last one, the lab itself included; {seconds:g} s for each figure.

## The lesson of each

| way | lesson |
|---|---|
{lessons}

## Two writers

Both had looked at the object before either wrote. This is the answer to the second one, and what became of the object.

{meetings}

- The JSON Patch writes to an index of the list. What had moved there was the entry of a third writer.
- The 409 of an Apply without force has causes with the reason `FieldManagerConflict`, which name field and manager; the
  409 of a stale resourceVersion has none. That is how the two are told apart: the one wants a decision, the other
  another look.
- The 422 of a JSON Patch whose `test` failed has the reason `Invalid`, and does not say that it was the `test`: a patch
  that removes what is not there gets the same answer to the letter. Both are to be read again and computed anew.

## Many writers

**{shared_name}**: all writers add 1 to one annotation: they read, add, write, and do it again at once when they are
refused. **{own_name}**: each adds 1 to the number in its own entry of a list (`env` of a PodTemplate's container; its
merge key is the name). Who must see the object to write does a GET first; who needs nothing but its own entry goes by
the answer to its last write. *Lost* is what was acknowledged and is not in the object at the end.

![Updates kept per second, updates lost and p99 of each way, for 1 to {most} writers](conflicts.svg)

Filled signs and solid lines: the server can refuse. Hollow and dashed: it can't.

{tables}

- **Updates/s** are acknowledged ones, **kept/s** those of them that are in the object at the end; **x** is kept/s in
  parts of that of {reference} with as many writers.
- **Requests** are those for one acknowledged update, reads and retries included; **p99** is of an acknowledged update
  from its first read to its answer. What was not acknowledged in time is in no p99: **shut out** are writers of which
  not one update was.
- Strategic Merge Patch is for built-in kinds alone: a custom resource answers 415. Apply does the same for both, by the
  list types of the schema.
- A write that changes nothing is answered 200 and not stored. So where increments are lost, an acknowledged one is
  often cheap: another had written the same number.
{remarks}

What of it does not depend on the machine, `tests/integration/test_conflict_lab.py` asserts.
"""


def page(results: Results) -> str:
    """Return the page."""
    return TEXT.format(
        date=results.machine.date,
        kubernetes=results.machine.kubernetes,
        cores=results.machine.cores,
        load=results.machine.load,
        load_after=results.machine.load_after,
        seconds=results.machine.cell_seconds,
        lessons="\n".join(f"| {way.title} | {lesson(results, way.name)} |" for way in WAYS),
        meetings="\n".join(meetings(results)),
        shared_name=_capital(Workload.SHARED),
        own_name=_capital(Workload.OWN),
        most=max(results.counts),
        tables="\n\n".join("\n".join(table(results, workload)) for workload in Workload),
        reference=WAYS[0].title,
        remarks="\n".join(_wrapped(remark) for remark in remarks(results)),
    )


def meetings(results: Results) -> list[str]:
    """Return the outcomes of all meetings of two writers, as the lines of a table."""
    lines = [f"| way | {' | '.join(Case)} |", f"|---|{'---|' * len(Case)}"]
    for way in WAYS:
        outcomes = (_outcome(results.meeting(way.name, case)) for case in Case)
        lines.append(f"| {way.title} | {' | '.join(outcomes)} |")
    return lines


def _outcome(meeting: Meeting) -> str:
    said = {
        Verdict.KEPT: "both are there",
        Verdict.REFUSED: "refused",
        Verdict.LOST: "**the other's change is lost**",
        Verdict.ASTRAY: "**a third one's entry is overwritten**",
    }[meeting.verdict]
    return f"{meeting.status}{' with causes' if meeting.causes else ''}: {said}"


def table(results: Results, workload: Workload) -> list[str]:
    """Return the figures of one workload, as the lines of a table with its heading."""
    lines = [
        f"### {_capital(workload)}",
        "",
        (
            "| writers | way | updates/s | kept/s | x | acknowledged | lost | 409 | of these with causes | 422 | 504"
            " | retries | requests | p99, ms | shut out |"
        ),
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for count in results.counts:
        reference = results.cell(WAYS[0].name, workload, count)
        lines += [_row(way, results.cell(way.name, workload, count), reference) for way in WAYS]
    return lines


def _row(way: Way, cell: Cell, reference: Cell) -> str:
    lost = f"**{cell.lost}** ({cell.lost_share:.0%})" if cell.lost else "0"
    busy = "\\*" if cell.limited_by_client else ""
    cost = "" if math.isinf(cell.cost) else f"{cell.cost:.1f}"
    columns: Sequence[object] = (
        cell.writers,
        way.title,
        _per_second(cell.rate) + busy,
        _per_second(cell.kept_rate),
        f"{cell.kept_rate / reference.kept_rate:.2f}" if reference.kept else "",
        cell.acknowledged,
        lost,
        cell.conflicts,
        cell.with_causes,
        cell.unprocessable,
        cell.timeouts,
        cell.retries,
        cost,
        f"{1000 * cell.p99:.0f}" if cell.acknowledged else "",
        cell.shut_out,
    )
    return f"| {' | '.join(map(str, columns))} |"


def _wrapped(remark: str) -> str:
    return textwrap.fill(f"- {remark}", LINE, subsequent_indent="  ", break_on_hyphens=False)


def _per_second(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 9.95 else f"{rate:.1f}"


def remarks(results: Results) -> list[str]:
    """Return what is to be known of the figures, as far as the run shows it."""
    return [_unfair(results), _server_retries(results), _timeouts(results), _processors(results)]


def _unfair(results: Results) -> str:
    cell = results.most("put-version", Workload.SHARED)
    return (
        "One writer always gets through, but not each: who tries again at once competes with all the others each time."
        f" With {cell.writers} writers and {WAYS[0].title}, {cell.shut_out} were shut out. Hence the backoff of"
        " controllers."
    )


def _server_retries(results: Results) -> str:
    """Return what patches without a precondition cost the server: it tries them again itself."""
    cells = [results.of(way, Workload.OWN) for way in ("strategic", "apply")]
    told = "; ".join(
        f"by {named(many[0].way).title} {_per_second(many[0].rate)} updates/s with {many[0].writers} writer and"
        f" {_per_second(many[-1].rate)} with {many[-1].writers}, at a p99 of {1000 * many[0].p99:.0f} and"
        f" {1000 * many[-1].p99:.0f} ms"
        for many in cells
    )
    text = (
        "What no client has to try again, the server does: etcd's transaction is a compare-and-swap, and after a lost"
        " one the API server applies the patch to the newer object, for up to 34 s. So own entries are free of"
        f" refusals, not of contention: {told}."
    )
    return text if all(many[-1].p99 > many[0].p99 for many in cells) else f"**Not borne out by this run:** {text}"


def _timeouts(results: Results) -> str:
    late = sum(cell.timeouts for cell in results.cells)
    if not late:
        return "No request took those 34 s, after which it would have been a 504."
    return f"Requests that took those 34 s and were answered 504: {late}. Whether they were written is not known."


def _processors(results: Results) -> str:
    clients = sorted(cell.client for cell in results.cells)
    servers = sorted(cell.server for cell in results.cells)
    busy = sum(cell.limited_by_client for cell in results.cells)
    middle = len(clients) // 2
    limit = f"{busy} of {len(clients)} figures have a \\*" if busy else "no figure has a \\*"
    return (
        f"The writers are one Python process, which used {clients[middle]:.1f} cores in the median and"
        f" {clients[-1]:.1f} at most; API server and etcd {servers[middle]:.1f} and {servers[-1]:.1f}."
        f" \\* marks where the writers used {BUSY:g} cores or more, so that the figure may be theirs: {limit}."
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
