"""A text that is drawn over the one before, in a terminal."""

import re

from kubectl_coxswain.screen import Screen, cells

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Canvas:
    """The last lines of a terminal. Each drawing replaces the one before."""

    def __init__(self, screen: Screen) -> None:
        """Draw on a screen that has a width."""
        self._screen = screen
        self._rows = 0

    def draw(self, text: str) -> None:
        """Draw some lines, as many as fit the height. The cursor could not go back over more."""
        lines, rows = self._fitting(text.splitlines())
        self._screen.back(self._rows)
        self._screen.raw("".join(f"{line}\n" for line in lines))
        self._screen.flush()
        self._rows = rows

    def _fitting(self, lines: list[str]) -> tuple[list[str], int]:
        """Return the first lines that fit, and their rows: the terminal breaks a line that is too wide."""
        rows = [_rows_of(line, self._screen.width or 1) for line in lines]
        height = self._screen.height
        if height is None or sum(rows) < height:
            return lines, sum(rows)
        shown = 0
        while shown < len(lines) and sum(rows[: shown + 1]) < height - 1:
            shown += 1
        return [*lines[:shown], "…" if self._screen.glyphs else "..."], sum(rows[:shown]) + 1


def _rows_of(line: str, width: int) -> int:
    rows, column = 1, 0
    for character in _COLOUR.sub("", line):
        wide = cells(character)
        if column + wide > width:
            rows, column = rows + 1, 0
        column += wide
    return rows
