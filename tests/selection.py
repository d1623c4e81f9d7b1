"""Select parts of the test files for CI, by `--part 2/3`, and find mistyped names."""

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from pathlib import Path


def part_of(files: Iterable[Path], part: str) -> set[Path]:
    """Return each Nth file from the Kth, in alphabetical order, for a part K/N.

    Raises:
        ValueError: the part is none of 1/N to N/N.
    """
    found = re.fullmatch(r"(\d+)/(\d+)", part)
    number, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= parts:
        raise ValueError(f"--part {part}: give the number of a part and of all parts, such as 2/3")
    return set(sorted(files)[number - 1 :: parts])


def unknown(name: str, known: Collection[str]) -> str:
    """Return an error for a name that is not known, with the near ones."""
    near = get_close_matches(name, known, 3, 0.5)
    return f"no such name: {name!r}; " + (f"near: {', '.join(near)}" if near else f"known: {', '.join(sorted(known))}")
