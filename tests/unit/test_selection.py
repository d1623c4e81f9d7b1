"""Parts of the test files: together they are all files, each once, and a wrong part is an error."""

from pathlib import Path

import pytest

from selection import part_of

FILES = [Path(f"test_{letter}.py") for letter in "gdabfce"]


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 9])
def test_the_parts_are_all_files_each_once(parts: int) -> None:
    found = [file for number in range(parts) for file in part_of(FILES, f"{number + 1}/{parts}")]
    assert sorted(found) == sorted(FILES)


def test_a_part_does_not_depend_on_the_order_of_the_files() -> None:
    assert part_of(FILES, "2/3") == {Path("test_b.py"), Path("test_e.py")} == part_of(sorted(FILES), "2/3")


@pytest.mark.parametrize("part", ["0/3", "4/3", "1/0", "2", "a/b", "-1/3"])
def test_a_wrong_part_is_an_error(part: str) -> None:
    with pytest.raises(ValueError, match="such as 2/3"):
        part_of(FILES, part)
