"""The mutants of the simulation's proof: each fits today's source, and one that does not is an error."""

import shutil
from pathlib import Path

import pytest

from simulation.prove import ROOT, Mutant, Outdated, mutants

NAMES = [
    "K1",
    "K2",
    "K3",
    "K4",
    "K7",
    "K8",
    "K9",
    "K10",
    "K11",
    "K12",
    "K13",
    "K14",
    "K17",
    "K18",
    "K21",
    "K23",
    "K25",
    "K26",
    "K33",
]


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
