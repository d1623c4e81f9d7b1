"""Text output: glyphs, colour and the width of a terminal; plain ASCII text everywhere else."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TextIO

from coxswain.kernel.objects.quote import clean

Level = Literal["good", "busy", "bad", "paused", "unknown", "none"]
"""How a state is to be judged."""

_COLOUR = {
    "good": "32",
    "busy": "33",
    "bad": "31",
    "paused": "36",
    "unknown": "90",
    "none": "",
    "head": "1",
    "dim": "90",
}
_GLYPH = {"good": "✔", "busy": "◌", "bad": "✖", "paused": "‖", "unknown": "?", "none": ""}
_BRANCHES = ("├── ", "└── ", "│   ", "    ")
_PLAIN_BRANCHES = ("|-- ", "`-- ", "|   ", "    ")
_GAP = 2
_NARROWEST = 20
_LAST_COLUMN = 10
_COLUMN = 4
"""The least widths of a cut column of a table: of the last one, before others are cut, and of any."""


@dataclass(frozen=True)
class Span:
    """A piece of text in a style: a level, `head` or `dim`."""

    text: str
    style: str = "none"


Cell = str | Span


def cells(text: str) -> int:
    """Return the columns of a text in a terminal: East Asian wide characters take two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def _cells_of(character: str) -> int:
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - most texts are ASCII

    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def cut(text: str, width: int, ellipsis: str = "…") -> str:
    """Return a text of at most `width` columns; an ellipsis marks the cut."""
    if cells(text) <= width:
        return text
    kept, room = "", width - cells(ellipsis)
    for character in text:
        room -= cells(character)
        if room < 0:
            break
        kept += character
    return kept + ellipsis if width >= cells(ellipsis) else ""


def wrapped(text: str, width: int, first: int | None = None) -> list[str]:
    """Return a text in lines, broken at spaces. A longer word has a line of its own.

    Args:
        text: the text.
        width: the columns of a line.
        first: the columns of the first line, if it has fewer.
    """
    lines: list[str] = [""]
    room = width if first is None else first
    for word in text.split():
        if cells(lines[-1]) + 1 + cells(word) <= room and lines[-1]:
            lines[-1] += f" {word}"
        elif not lines[-1] and (cells(word) <= room or room == width):
            lines[-1] = word
        else:
            lines.append(word)
            room = width
    return lines


def fitted(widths: Sequence[int], room: int) -> list[int]:
    """Return the widths of columns that fit: the last one gives way first, then always the widest."""
    *others, last = widths
    found = [*others, min(last, max(_LAST_COLUMN, room - sum(others)))]
    while sum(found) > room and max(found) > _COLUMN:
        found[found.index(max(found))] -= 1
    return found


class Screen:
    """Writes to a stream."""

    def __init__(
        self,
        stream: TextIO,
        *,
        width: int | None = None,
        height: int | None = None,
        colour: bool = False,
        glyphs: bool = False,
        redraws: bool = True,
        size: Callable[[], tuple[int, int]] | None = None,
    ) -> None:
        """Write to `stream`.

        Args:
            stream: the stream.
            width: the columns; None without a limit.
            height: the lines; None without a limit.
            colour: whether to use colour.
            glyphs: whether to use characters beyond ASCII.
            redraws: whether the cursor can go back over lines.
            size: returns the present width and height; None if they stay.
        """
        self._stream = stream
        self.width = width
        self.height = height
        self._size = size
        self._colour = colour
        self.glyphs = glyphs
        self.redraws = redraws and width is not None

    def onto(self, stream: TextIO) -> "Screen":
        """Return a screen of the same width and style on another stream."""
        return Screen(stream, width=self.width, height=self.height, colour=self._colour, glyphs=self.glyphs)

    def measure(self) -> None:
        """Take the present size: the user may have resized the terminal."""
        if self._size is not None:
            self.width, self.height = self._size()

    @property
    def branches(self) -> Sequence[str]:
        """The drawing of a tree: a branch, the last branch, and what stands below either."""
        return _BRANCHES if self.glyphs else _PLAIN_BRANCHES

    def mark(self, level: Level) -> str:
        """Return the glyph of a level with a space; nothing in plain text."""
        return f"{_GLYPH[level]} " if self.glyphs and _GLYPH[level] else ""

    @property
    def ellipsis(self) -> str:
        """The mark of a cut."""
        return "…" if self.glyphs else "..."

    def line(self, *spans: Cell) -> None:
        """Write a line, cut to the width."""
        room = self.width
        parts = []
        for span in spans:
            text, style = _text_and_style(span)
            if room is not None:
                text = cut(text, room, self.ellipsis)
                room -= cells(text)
            parts.append(self._painted(text, style))
        self._write("".join(parts).rstrip())

    def paragraph(self, text: str, indent: str = "", *, first: Cell | None = None) -> None:
        """Write a text in as many lines as it needs, with `indent` or, before the first line, `first`."""
        lead, style = _text_and_style(Span(indent) if first is None else first)
        lines = [clean(text)]
        if self.width is not None:
            lines = wrapped(clean(text), max(1, self.width - cells(indent)), max(1, self.width - cells(lead)))
        self._write((self._painted(lead, style) + lines[0]).rstrip())
        for line in lines[1:]:
            self._write((indent + line).rstrip())

    def fields(self, pairs: Iterable[tuple[str, str, Level]]) -> None:
        """Write a block of names and values."""
        shown = [(name, value, level) for name, value, level in pairs if value]
        width = max((cells(name) for name, _, _ in shown), default=0) + 1 + _GAP
        for name, value, level in shown:
            self.paragraph(
                self.mark(level) + value, " " * width, first=Span(f"{name}:" + " " * (width - cells(name) - 1), "head")
            )

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Cell]], *, fit: bool = True) -> None:
        """Write aligned columns. In a terminal the cells of wide ones are cut; without `fit` the last columns are."""
        widths = [
            max(cells(text) for text in column)
            for column in zip(header, *([_text_and_style(cell)[0] for cell in row] for row in rows), strict=True)
        ]
        if self.width is not None and fit:
            widths = fitted(widths, self.width - _GAP * (len(widths) - 1))
        self.line(*self._padded([Span(title, "head") for title in header], widths))
        for row in rows:
            self.line(*self._padded(row, widths))

    def blank(self) -> None:
        """Write an empty line."""
        self._write("")

    def back(self, lines: int) -> None:
        """Move to the beginning of the line `lines` above, and erase everything below."""
        if lines:
            self._stream.write(f"\x1b[{lines}A\r\x1b[J")

    def flush(self) -> None:
        """Pass everything on to the terminal."""
        self._stream.flush()

    def raw(self, text: str) -> None:
        """Write a text as it is: the output for programs."""
        self._stream.write(text)

    def _padded(self, row: Sequence[Cell], widths: Sequence[int]) -> list[Cell]:
        padded: list[Cell] = []
        for number, cell in enumerate(row):
            text, style = _text_and_style(cell)
            text = cut(text, widths[number], self.ellipsis)
            padded.append(Span(text, style))
            if number < len(row) - 1:
                padded.append(" " * (widths[number] - cells(text) + _GAP))
        return padded

    def _painted(self, text: str, style: str) -> str:
        code = _COLOUR.get(style, "")
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour and code and text else text

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")


def _text_and_style(cell: Cell) -> tuple[str, str]:
    """Return text and style of a cell. A text from the cluster can neither control the terminal nor forge a row."""
    text, style = (cell.text, cell.style) if isinstance(cell, Span) else (cell, "none")
    return (text if text.isprintable() else clean(text)), style


def screen_of(stream: TextIO, environment: Mapping[str, str], *, colour: bool = True) -> Screen:
    """Return the screen of a stream.

    Args:
        stream: the stream.
        environment: NO_COLOR (https://no-color.org) switches colour off, TERM=dumb all control sequences; COLUMNS and
            LINES override the size.
        colour: whether the user allows colour.
    """
    is_terminal = stream.isatty()
    if hasattr(stream, "reconfigure"):
        # In a terminal the replacement of a character must not be wider than the character.
        stream.reconfigure(errors="replace" if is_terminal else "backslashreplace")
    if not is_terminal:
        return Screen(stream)
    dumb = environment.get("TERM", "") in ("", "dumb")
    utf_8 = (stream.encoding or "").lower().replace("-", "") == "utf8"

    def size() -> tuple[int, int]:
        columns, lines = _size(stream)
        width = max(_NARROWEST, _number(environment, "COLUMNS") or columns)
        return width, _number(environment, "LINES") or lines

    width, height = size()
    return Screen(
        stream,
        width=width,
        height=height,
        colour=colour and not dumb and not environment.get("NO_COLOR"),
        glyphs=utf_8 and not dumb,
        redraws=not dumb,
        size=size,
    )


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment.get(name, "")
    return int(text) if text.isdecimal() else 0


def _size(stream: TextIO) -> tuple[int, int]:
    """Return the columns and lines of a terminal."""
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except OSError:
        return 80, 24
    return columns or 80, lines or 24


def confirmed(question: str) -> bool:
    """Ask on the terminal; only `y` or `yes` confirms. Without a terminal nobody can be asked.

    Raises:
        EOFError: the standard input ends.
    """
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline() if sys.stdin is not None else ""
    if not answer:
        raise EOFError
    return answer.strip().lower() in ("y", "yes")
