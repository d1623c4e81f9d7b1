"""The mutants of the simulation's proof: each applies to today's source, otherwise it is an error."""

from pathlib import Path

import pytest

from simulation.prove import Mutant, Outdated, mutants, proof
from simulation.workloads import ROOT

KNOWN = {f"K{number}" for number in (1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 17, 18, 21, 23, 25, 26, 33)}
NAMES = [mutant.name for mutant in mutants([])]
INVARIANTS = {
    "progress",
    "nobody is forgotten",
    "honesty",
    "restraint",
    "no write to foreign objects",
    "memory is bounded",
    "memory is empty",
    "no internal error",
    "one writer",
    "writes of the leader",
    "a leader in time",
    "a takeover without a LIST",
    "slots are balanced",
    "a drain before the release",
    "memory of a slot is dropped",
    "a Service keeps its address",
    "a restart has a cause",
}


def test_each_known_defect_has_a_mutant() -> None:
    assert set(NAMES) >= KNOWN


def test_each_mutant_fits_the_source_and_names_its_invariants() -> None:
    outdated = []
    for mutant in mutants([]):
        assert mutant.invariants, mutant.name
        assert set(mutant.invariants) <= INVARIANTS, mutant.name
        try:
            assert mutant.changed(ROOT / "operator" / "coxswain"), mutant.name
        except Outdated as error:
            outdated.append(str(error))
    assert outdated == []


def test_a_mutant_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one = 1\n")
    with pytest.raises(Outdated, match=r"K0: 0 matches in a\.py instead of 1: two"):
        Mutant("K0", "", (("a.py", "two", "three"),)).apply(tmp_path)


@pytest.mark.thorough
def test_a_crash_is_no_proof() -> None:
    crash = (
        "kernel/reconciling/parent/reconciler.py",
        "        begun = self._clock()\n",
        "        raise KeyError(key)\n",
    )
    mutant = Mutant("K0", "a crash", (crash,), ("progress", "nobody is forgotten"))
    row = proof(mutant, "scheduled-task", seeds=1, seconds=60)
    assert "| - | NOT FOUND in 1 seeds, but seed 0 failed: no internal error" in row


@pytest.mark.thorough
def test_a_known_defect_is_found_on_the_example() -> None:
    (mutant,) = mutants(["K8"])
    row = proof(mutant, "scheduled-task", seeds=16, seconds=60)
    assert "restraint: 61 writes of ('cronjobs'" in row
