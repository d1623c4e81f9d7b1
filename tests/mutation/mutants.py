"""The list of mutants: tests/mutation/kept/*.toml, one file for each area."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from mutation.source import Change

KEPT = Path(__file__).parent / "kept"


@dataclass(frozen=True)
class Mutant:
    """One small change of the operator, and the tests expected to detect it."""

    name: str
    change: Change
    tests: tuple[str, ...]
    """Files or node ids below tests/; fewer tests are faster."""
    survives: str = ""
    """The reason why no test can detect it; empty for a mutant to be killed."""


def kept(words: Sequence[str] = ()) -> list[Mutant]:
    """Return all mutants, or those with one of these words in their name or file."""
    found = [mutant for path in sorted(KEPT.glob("*.toml")) for mutant in _of_file(path)]
    names = [mutant.name for mutant in found]
    doubled = {name for name in names if names.count(name) > 1}
    if doubled:
        raise ValueError(f"mutants have the same name: {', '.join(sorted(doubled))}")
    return [mutant for mutant in found if not words or any(w in f"{mutant.name} {mutant.change.file}" for w in words)]


def words_of(mutants: Sequence[Mutant]) -> set[str]:
    """Return the areas that the names of mutants begin with, and the stems of their files."""
    return {name for each in mutants for name in (each.name.partition(":")[0], PurePath(each.change.file).stem)}


def _of_file(path: Path) -> list[Mutant]:
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Mutant(
            name=entry["name"],
            change=Change(entry["file"], entry["old"], entry["new"]),
            tests=tuple(entry.get("tests", read.get("tests", ()))),
            survives=entry.get("survives", ""),
        )
        for entry in read["mutant"]
    ]
