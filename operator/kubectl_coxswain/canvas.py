"""A text drawn over the previous one, in a terminal."""

import re

from kubectl_coxswain.screen import Screen, cells

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Canvas:
    """The last lines of a terminal. Each drawing replaces the one before."""

    def __init__(self, screen: Screen) -> None:
        """Draw on a screen with a width."""
        self._screen = screen
        self._lines: list[str] = []

    def draw(self, text: str) -> None:
        """Draw some lines, as many as fit the height. The cursor could not go back over more."""
        lines = self._fitting(text.splitlines())
        # A terminal that was resized meanwhile has broken the lines anew.
        self._screen.back(sum(self._rows(self._lines)))
        self._screen.raw("".join(f"{line}\n" for line in lines))
        self._screen.flush()
        self._lines = lines

    def _rows(self, lines: list[str]) -> list[int]:
        """Return the rows of each line: the terminal breaks a wider one."""
        return [_rows_of(line, self._screen.width or 1) for line in lines]

    def _fitting(self, lines: list[str]) -> list[str]:
        """Return the first lines that fit."""
        rows, height = self._rows(lines), self._screen.height
        if height is None or sum(rows) < height:
            return lines
        shown = 0
        while shown < len(lines) and sum(rows[: shown + 1]) < height - 1:
            shown += 1
        return [*lines[:shown], self._screen.ellipsis]


def _rows_of(line: str, width: int) -> int:
    rows, column = 1, 0
    for character in _COLOUR.sub("", line):
        wide = cells(character)
        if column + wide > width:
            rows, column = rows + 1, 0
        column += wide
    return rows
