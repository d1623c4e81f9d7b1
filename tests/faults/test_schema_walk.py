"""F22: every field of the schema with each of some values, in a WebApp that has seen others before."""

import pytest

from faults.run import Case
from faults.schema_walk import LEFT_OUT
from faults.script import Settle, Walk

PARTS = 3


@pytest.mark.fault(
    "F22",
    "every field of the schema set, changed, removed, each list and map grown, emptied, reversed: as in a new WebApp",
    oracles=("O1", "O3", "O4", "O5", "O6"),
    broken="gives-nothing-up",
)
@pytest.mark.parametrize("part", [pytest.param(1, marks=pytest.mark.ci), *range(2, PARTS + 1)])
def test_schema_walk(case: Case, part: int) -> None:
    played = case((Walk(part, PARTS), Settle()))
    print(*played.told, *(f"left out: {name}, {reason}" for name, reason in LEFT_OUT.items()), sep="\n")
