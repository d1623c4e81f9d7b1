"""The oracles: what a run must have been like, judged from its evidence alone, without a line of the operator's code.

`O4` finds nothing here: that the operator still reconciles is seen by an act of the runner, and not by reading.
"""

from collections.abc import Callable, Sequence

from faults.evidence import Evidence, Violation
from faults.oracles import bounds, counts, disclosure, end_state, honesty, moments, quiet

_ALONE: dict[str, Callable[[Evidence], list[Violation]]] = {
    "O6": moments.check,
    "O8": disclosure.check,
}
_COMPARING: dict[str, Callable[[Evidence, Evidence], list[Violation]]] = {
    "O1": end_state.check,
    "O2": counts.check,
    "O3": quiet.check,
    "O5": honesty.check,
    "O7": bounds.check,
}

IDS = tuple(sorted({*_ALONE, *_COMPARING, "O4"}))


def check(evidence: Evidence, reference: Evidence | None, ids: Sequence[str] = IDS) -> list[Violation]:
    """Return what the oracles `ids` find against a run, compared with one without faults where they compare.

    Raises:
        ValueError: an oracle is unknown, or has not got what it judges by.
    """
    return [violation for oracle in ids for violation in _checked(oracle, evidence, reference)]


def _checked(oracle: str, evidence: Evidence, reference: Evidence | None) -> list[Violation]:
    if oracle == "O4":
        return []
    if oracle in _ALONE:
        return _ALONE[oracle](evidence)
    if oracle not in _COMPARING:
        raise ValueError(f"there is no oracle {oracle}: there are {', '.join(IDS)}")
    if reference is None:
        raise ValueError(f"{oracle} compares with a run without faults, and there is none")
    return _COMPARING[oracle](evidence, reference)
