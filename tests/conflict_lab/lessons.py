"""The result for each write method, with the figures of a run, and whether the run bears it out. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from conflict_lab.results import Case, Cell, Results, Verdict
from conflict_lab.ways import Workload

SHARED, OWN = Workload.SHARED, Workload.OWN


@dataclass(frozen=True)
class Lesson:
    """A text, and its claim, which a run may refute."""

    sentence: Callable[[Results], str]
    holds: Callable[[Results], bool]


def _share(cell: Cell) -> str:
    return f"{cell.lost_share:.0%}"


def _lossless(results: Results, way: str) -> bool:
    """Tell whether no update was lost, of those whose fate is known, by either workload."""
    return all(abs(cell.lost) <= cell.timeouts for workload in Workload for cell in results.of(way, workload))


def _refused_with(results: Results, way: str, kind: Callable[[Cell], int], workloads: tuple[Workload, ...]) -> bool:
    """Tell whether there were refusals among the most writers, and all of that kind."""
    cells = [cell for workload in workloads for cell in results.of(way, workload)]
    most = [results.most(way, workload) for workload in workloads]
    return all(kind(cell) == cell.refused - cell.timeouts for cell in cells) and all(kind(cell) for cell in most)


def _free(results: Results, way: str) -> bool:
    """Tell whether writers of entries of their own lost nothing and were never refused."""
    return all(
        abs(cell.lost) <= cell.timeouts and not cell.conflicts + cell.unprocessable for cell in results.of(way, OWN)
    )


def _blind(results: Results, way: str, workload: Workload) -> bool:
    """Tell whether updates were lost wherever there was more than one writer, and nothing told them so."""
    several = [cell for cell in results.of(way, workload) if cell.writers > 1]
    return all(cell.lost > 0 and not cell.conflicts + cell.unprocessable for cell in several)


def _verdict(results: Results, way: str, case: Case, verdict: Verdict) -> bool:
    return results.meeting(way, case).verdict is verdict


def _put_version(results: Results) -> str:
    shared, own = results.most("put-version", SHARED), results.most("put-version", OWN)
    return (
        "No update is lost. Any write in between costs a 409, a read and a retry, even if it changed another field:"
        f" with {shared.writers} writers an acknowledged update cost {shared.cost:.0f} requests on the shared field,"
        f" and {own.cost:.0f} on own entries."
    )


def _put(results: Results) -> str:
    shared, own = results.most("put", SHARED), results.most("put", OWN)
    return (
        "The last writer wins and overwrites the whole object with its old copy. With"
        f" {own.writers} writers {_share(shared)} of the acknowledged updates of the shared field and {_share(own)} of"
        " those of own entries were lost, and every answer was 200."
    )


def _json_patch(results: Results) -> str:
    shared, own = results.most("json-patch", SHARED), results.most("json-patch", OWN)
    return (
        "The patch holds only the change, so own entries need neither a read nor a retry by the client"
        f" ({own.acknowledged} updates, {own.lost} lost). It overwrites a shared field blindly ({_share(shared)} lost)."
        " It addresses a list by index: after the list had moved, it overwrote the entry of a third writer."
    )


def _json_patch_version(results: Results) -> str:
    shared = results.most("json-patch-version", SHARED)
    return (
        "A `test` of resourceVersion makes the patch as safe as a PUT with resourceVersion. The refusal is 422"
        f" `Invalid` instead of 409 ({shared.unprocessable} of {shared.writes} writes with {shared.writers} writers)."
        " A retry-on-conflict helper does not recognise it."
    )


def _json_patch_value(results: Results) -> str:
    shared, own = results.most("json-patch-value", SHARED), results.most("json-patch-value", OWN)
    return (
        "A `test` of the old value guards exactly the changed value. Nothing is lost: writes to the shared field are"
        f" refused with 422 ({shared.unprocessable} of {shared.writes}), writes to own entries are not"
        f" ({own.unprocessable} of {own.writes}), and a moved index is detected."
    )


def _merge_patch(results: Results) -> str:
    shared, own = results.most("merge-patch", SHARED), results.most("merge-patch", OWN)
    return (
        "It merges maps and replaces lists."
        f" {_share(shared)} of the acknowledged updates of a shared field were lost. It can send a list only as a"
        f" whole, and {_share(own)} of the acknowledged updates of list entries were lost."
    )


def _merge_patch_version(results: Results) -> str:
    own = results.most("merge-patch-version", OWN)
    return (
        "With metadata.resourceVersion in its body it behaves like a small PUT: nothing is lost, and a stale patch gets"
        f" 409. A list is still sent as a whole ({own.cost:.0f} requests for an own entry with {own.writers} writers)."
    )


def _strategic(results: Results) -> str:
    shared, own = results.most("strategic", SHARED), results.most("strategic", OWN)
    return (
        "It finds list entries by merge key. Each writer sends only its own entry, and nothing is lost"
        f" ({own.acknowledged} updates, {own.lost} lost), even after the list has moved. It overwrites a shared field"
        f" like any patch without a precondition ({_share(shared)} lost)."
    )


def _apply(results: Results) -> str:
    shared, own = results.most("apply", SHARED), results.most("apply", OWN)
    return (
        "Own entries are merged by key without a conflict"
        f" ({own.acknowledged} updates, {own.lost} lost). A write to a field of another manager gets a 409 with the"
        f" name of the field and its manager ({shared.with_causes} of {shared.conflicts}), and a retry does not help"
        f" ({shared.writes} writes, increments kept: {shared.kept}). Equal values cause no conflict and make all their"
        f" writers owners; after that, none of them can change the field ({shared.lost} of the accepted increments"
        " lost)."
    )


def _apply_force(results: Results) -> str:
    shared, own = results.most("apply-force", SHARED), results.most("apply-force", OWN)
    return (
        f"Force takes the field silently: {_share(shared)} of the acknowledged updates of the shared field were lost,"
        f" as with a patch without a precondition. Own entries lost {own.lost} of {own.acknowledged}."
    )


def _apply_force_version(results: Results) -> str:
    shared = results.most("apply-force-version", SHARED)
    return (
        "Force with the observed resourceVersion takes a field only in its observed state. Nothing is lost. The 409"
        f" has no causes ({shared.with_causes} of {shared.conflicts} have) and requires another read. Coxswain"
        " enforces fields this way."
    )


LESSONS: Mapping[str, Lesson] = {
    "put-version": Lesson(
        _put_version,
        lambda run: (
            _lossless(run, "put-version")
            and _refused_with(run, "put-version", lambda cell: cell.conflicts, (SHARED, OWN))
        ),
    ),
    "put": Lesson(_put, lambda run: _blind(run, "put", SHARED) and _blind(run, "put", OWN)),
    "json-patch": Lesson(
        _json_patch,
        lambda run: (
            _free(run, "json-patch")
            and _blind(run, "json-patch", SHARED)
            and _verdict(run, "json-patch", Case.MOVED, Verdict.ASTRAY)
        ),
    ),
    "json-patch-version": Lesson(
        _json_patch_version,
        lambda run: (
            _lossless(run, "json-patch-version")
            and _refused_with(run, "json-patch-version", lambda cell: cell.unprocessable, (SHARED, OWN))
        ),
    ),
    "json-patch-value": Lesson(
        _json_patch_value,
        lambda run: (
            _lossless(run, "json-patch-value")
            and _refused_with(run, "json-patch-value", lambda cell: cell.unprocessable, (SHARED,))
            and _free(run, "json-patch-value")
            and _verdict(run, "json-patch-value", Case.MOVED, Verdict.REFUSED)
        ),
    ),
    "merge-patch": Lesson(
        _merge_patch, lambda run: _blind(run, "merge-patch", SHARED) and _blind(run, "merge-patch", OWN)
    ),
    "merge-patch-version": Lesson(
        _merge_patch_version,
        lambda run: (
            _lossless(run, "merge-patch-version")
            and _refused_with(run, "merge-patch-version", lambda cell: cell.conflicts, (SHARED, OWN))
        ),
    ),
    "strategic": Lesson(
        _strategic,
        lambda run: (
            _free(run, "strategic")
            and _blind(run, "strategic", SHARED)
            and _verdict(run, "strategic", Case.MOVED, Verdict.KEPT)
        ),
    ),
    "apply": Lesson(
        _apply,
        lambda run: (
            _free(run, "apply")
            and _refused_with(run, "apply", lambda cell: cell.with_causes, (SHARED,))
            and all(cell.conflicts > cell.kept for cell in run.of("apply", SHARED) if cell.writers > 1)
            and _verdict(run, "apply", Case.EQUAL, Verdict.LOST)
        ),
    ),
    "apply-force": Lesson(_apply_force, lambda run: _free(run, "apply-force") and _blind(run, "apply-force", SHARED)),
    "apply-force-version": Lesson(
        _apply_force_version,
        lambda run: (
            _lossless(run, "apply-force-version")
            and _refused_with(run, "apply-force-version", lambda cell: cell.conflicts, (SHARED, OWN))
            and not any(cell.with_causes for workload in Workload for cell in run.of("apply-force-version", workload))
        ),
    ),
}
"""Of each way, by its name."""


def lesson(results: Results, way: str) -> str:
    """Return the lesson of a way; one that the run refutes says so."""
    found = LESSONS[way]
    return (
        found.sentence(results) if found.holds(results) else f"**Not borne out by this run:** {found.sentence(results)}"
    )
