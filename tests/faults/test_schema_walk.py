"""F22: every field of the schema with several values, in a WebApp that had other values before."""

import pytest

from fault_engine.run import Case
from fault_engine.script import Settle
from faults.schema_walk import LEFT_OUT
from faults.walk import walk_step

PARTS = 6


@pytest.mark.fault(
    "F22",
    "every field of the schema set, changed, removed, each list and map extended, emptied, reversed: as in a new one",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="keeps-removed-fields",
)
@pytest.mark.parametrize("part", [pytest.param(1, marks=pytest.mark.ci), *range(2, PARTS + 1)])
def test_schema_walk(case: Case, part: int) -> None:
    played = case((walk_step(part, PARTS), Settle()))
    print(*played.report, *(f"left out: {name}, {reason}" for name, reason in LEFT_OUT.items()), sep="\n")
