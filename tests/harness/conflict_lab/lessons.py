"""The result for each write method, with the figures of a run and a check of the claim against the run. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from conflict_lab.results import Case, Cell, Results, Verdict
from conflict_lab.ways import Workload

SHARED, OWN = Workload.SHARED, Workload.OWN

Claim = Callable[[Results, str], bool]
"""Tells whether a run confirms a claim about a write method."""
Count = Callable[[Cell], int]


@dataclass(frozen=True)
class Lesson:
    """A text with its claims, which a run may refute."""

    sentence: Callable[[Cell, Cell], str]
    """From the results of the most writers: of the shared field, and of own entries."""
    claims: tuple[Claim, ...]

    def text(self, results: Results, way: str) -> str:
        """Return the text with the figures of a run."""
        return self.sentence(results.most(way, SHARED), results.most(way, OWN))

    def holds(self, results: Results, way: str) -> bool:
        """Return whether a run confirms all claims."""
        return all(claim(results, way) for claim in self.claims)


def _share(cell: Cell) -> str:
    return f"{cell.lost_share:.0%}"


def _lossless(results: Results, way: str) -> bool:
    """Both workloads lost no update, except updates with an unknown result."""
    return all(abs(cell.lost) <= cell.timeouts for workload in Workload for cell in results.of(way, workload))


def _free(results: Results, way: str) -> bool:
    """Writers of separate entries lost no update and got no refusal."""
    return all(
        abs(cell.lost) <= cell.timeouts and not cell.conflicts + cell.unprocessable for cell in results.of(way, OWN)
    )


def _conflicts(cell: Cell) -> int:
    return cell.conflicts


def _unprocessable(cell: Cell) -> int:
    return cell.unprocessable


def _with_causes(cell: Cell) -> int:
    return cell.with_causes


def _refused_with(kind: Count, *workloads: Workload) -> Claim:
    """The largest number of writers caused refusals, all of this kind."""

    def claim(results: Results, way: str) -> bool:
        cells = [cell for workload in workloads for cell in results.of(way, workload)]
        most = [results.most(way, workload) for workload in workloads]
        return all(kind(cell) == cell.refused - cell.timeouts for cell in cells) and all(kind(cell) for cell in most)

    return claim


def _blind(*workloads: Workload) -> Claim:
    """Every run with several writers lost updates without an error."""

    def claim(results: Results, way: str) -> bool:
        several = [cell for workload in workloads for cell in results.of(way, workload) if cell.writers > 1]
        return all(cell.lost > 0 and not cell.conflicts + cell.unprocessable for cell in several)

    return claim


def _verdict(case: Case, verdict: Verdict) -> Claim:
    """Two writers that both read before either wrote end with this verdict."""
    return lambda results, way: results.meeting(way, case).verdict is verdict


def _retries_do_not_help(results: Results, way: str) -> bool:
    """Several writers of a shared field got more conflicts than kept updates."""
    return all(cell.conflicts > cell.kept for cell in results.of(way, SHARED) if cell.writers > 1)


def _without_causes(results: Results, way: str) -> bool:
    """No refusal names a field and its manager."""
    return not any(cell.with_causes for workload in Workload for cell in results.of(way, workload))


def _put_version(shared: Cell, own: Cell) -> str:
    return (
        "No update is lost. Any write in between costs a 409, a read and a retry, even if it changed another field:"
        f" with {shared.writers} writers an acknowledged update cost {shared.cost:.0f} requests on the shared field,"
        f" and {own.cost:.0f} on own entries."
    )


def _put(shared: Cell, own: Cell) -> str:
    return (
        "The last writer wins and overwrites the whole object with its old copy. With"
        f" {own.writers} writers {_share(shared)} of the acknowledged updates of the shared field and {_share(own)} of"
        " those of own entries were lost, and every answer was 200."
    )


def _json_patch(shared: Cell, own: Cell) -> str:
    return (
        "The patch holds only the change, so own entries need neither a read nor a retry by the client"
        f" ({own.acknowledged} updates, {own.lost} lost). It overwrites a shared field blindly ({_share(shared)} lost)."
        " It addresses a list by index: after the list had moved, it overwrote the entry of a third writer."
    )


def _json_patch_version(shared: Cell, _: Cell) -> str:
    return (
        "A `test` of resourceVersion makes the patch as safe as a PUT with resourceVersion. The refusal is 422"
        f" `Invalid` instead of 409 ({shared.unprocessable} of {shared.writes} writes with {shared.writers} writers)."
        " A retry-on-conflict helper does not recognise it."
    )


def _json_patch_value(shared: Cell, own: Cell) -> str:
    return (
        "A `test` of the old value guards exactly the changed value. Nothing is lost: writes to the shared field are"
        f" refused with 422 ({shared.unprocessable} of {shared.writes}), writes to own entries are not"
        f" ({own.unprocessable} of {own.writes}), and a moved index is detected."
    )


def _merge_patch(shared: Cell, own: Cell) -> str:
    return (
        "It merges maps and replaces lists."
        f" {_share(shared)} of the acknowledged updates of a shared field were lost. It can send a list only as a"
        f" whole, and {_share(own)} of the acknowledged updates of list entries were lost."
    )


def _merge_patch_version(_: Cell, own: Cell) -> str:
    return (
        "With metadata.resourceVersion in its body it behaves like a small PUT: nothing is lost, and a stale patch gets"
        f" 409. A list is still sent as a whole ({own.cost:.0f} requests for an own entry with {own.writers} writers)."
    )


def _strategic(shared: Cell, own: Cell) -> str:
    return (
        "It finds list entries by merge key. Each writer sends only its own entry, and nothing is lost"
        f" ({own.acknowledged} updates, {own.lost} lost), even after the list has moved. It overwrites a shared field"
        f" like any patch without a precondition ({_share(shared)} lost)."
    )


def _apply(shared: Cell, own: Cell) -> str:
    return (
        "Own entries are merged by key without a conflict"
        f" ({own.acknowledged} updates, {own.lost} lost). A write to a field of another manager gets a 409 with the"
        f" name of the field and its manager ({shared.with_causes} of {shared.conflicts}), and a retry does not help"
        f" ({shared.writes} writes, increments kept: {shared.kept}). Equal values cause no conflict and make all their"
        f" writers owners; after that, none of them can change the field ({shared.lost} of the accepted increments"
        " lost)."
    )


def _apply_force(shared: Cell, own: Cell) -> str:
    return (
        f"Force takes the field silently: {_share(shared)} of the acknowledged updates of the shared field were lost,"
        f" as with a patch without a precondition. Own entries lost {own.lost} of {own.acknowledged}."
    )


def _apply_force_version(shared: Cell, _: Cell) -> str:
    return (
        "Force with the observed resourceVersion takes a field only in its observed state. Nothing is lost. The 409"
        f" has no causes ({shared.with_causes} of {shared.conflicts} have) and requires another read. Coxswain"
        " enforces fields this way."
    )


LESSONS: Mapping[str, Lesson] = {
    "put-version": Lesson(_put_version, (_lossless, _refused_with(_conflicts, SHARED, OWN))),
    "put": Lesson(_put, (_blind(SHARED, OWN),)),
    "json-patch": Lesson(_json_patch, (_free, _blind(SHARED), _verdict(Case.MOVED, Verdict.ASTRAY))),
    "json-patch-version": Lesson(_json_patch_version, (_lossless, _refused_with(_unprocessable, SHARED, OWN))),
    "json-patch-value": Lesson(
        _json_patch_value,
        (_lossless, _refused_with(_unprocessable, SHARED), _free, _verdict(Case.MOVED, Verdict.REFUSED)),
    ),
    "merge-patch": Lesson(_merge_patch, (_blind(SHARED, OWN),)),
    "merge-patch-version": Lesson(_merge_patch_version, (_lossless, _refused_with(_conflicts, SHARED, OWN))),
    "strategic": Lesson(_strategic, (_free, _blind(SHARED), _verdict(Case.MOVED, Verdict.KEPT))),
    "apply": Lesson(
        _apply,
        (_free, _refused_with(_with_causes, SHARED), _retries_do_not_help, _verdict(Case.EQUAL, Verdict.LOST)),
    ),
    "apply-force": Lesson(_apply_force, (_free, _blind(SHARED))),
    "apply-force-version": Lesson(
        _apply_force_version, (_lossless, _refused_with(_conflicts, SHARED, OWN), _without_causes)
    ),
}
"""The lesson of each write method, by its name."""


def lesson(results: Results, way: str) -> str:
    """Return the lesson of a write method, with a note if the run refutes it."""
    found = LESSONS[way]
    text = found.text(results, way)
    return text if found.holds(results, way) else f"**Not borne out by this run:** {text}"
