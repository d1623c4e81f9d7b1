"""The mutants of the simulation's proof: each fits today's source, and one that does not is an error."""

import shutil
from pathlib import Path

import pytest

from simulation.prove import ROOT, Mutant, Outdated, mutants

KNOWN = {f"K{number}" for number in (1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 17, 18, 21, 23, 25, 26, 33)}
NAMES = [mutant.name for mutant in mutants([])]


def test_each_known_defect_has_a_mutant() -> None:
    assert set(NAMES) >= KNOWN


@pytest.mark.parametrize("name", NAMES)
def test_each_mutant_fits_the_source(name: str, tmp_path: Path) -> None:
    (mutant,) = mutants([name])
    package = tmp_path / "coxswain"
    shutil.copytree(ROOT / "operator" / "coxswain", package, ignore=shutil.ignore_patterns("__pycache__"))
    mutant.apply(package)


def test_a_mutant_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one = 1\n")
    with pytest.raises(Outdated, match=r"K0: 0 places in a\.py have: two"):
        Mutant("K0", "", (("a.py", "two", "three"),)).apply(tmp_path)
