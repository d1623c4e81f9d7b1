"""The oracles: they judge a run from its evidence only, without any code of the operator.

O4 returns nothing here: the player itself checks that the operator still reconciles.
"""

from collections.abc import Callable, Sequence

from fault_engine.evidence import Evidence, Violation
from fault_engine.oracles import bounds, counts, disclosure, end_state, honesty, moments, quiet

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
    """Return the violations that the oracles `ids` find in a run. Some compare it with the run without faults.

    Raises:
        ValueError: an oracle is unknown, or an input is missing.
    """
    return [violation for oracle in ids for violation in _checked(oracle, evidence, reference)]


def _checked(oracle: str, evidence: Evidence, reference: Evidence | None) -> list[Violation]:
    if oracle == "O4":
        return []
    if oracle in _ALONE:
        return _ALONE[oracle](evidence)
    if oracle not in _COMPARING:
        raise ValueError(f"there is no oracle {oracle}; the oracles are {', '.join(IDS)}")
    if reference is None:
        raise ValueError(f"{oracle} needs a run without faults for comparison")
    return _COMPARING[oracle](evidence, reference)
