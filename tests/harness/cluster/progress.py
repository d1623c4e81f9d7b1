"""Reports progress to a waiting person."""

import sys
import time
from collections.abc import Callable
from typing import Self, TextIO

Progress = Callable[[str], None]

LINE_EVERY_SECONDS = 20.0
REFRESH_EVERY_SECONDS = 0.2


def silent(_line: str) -> None:
    """A Progress that discards all lines."""


class Heartbeat:
    """Repeated progress of one long task: on a terminal one refreshed line, else a line every 20 seconds.

    A context manager; call `beat(text)` as often as there is progress.
    """

    def __init__(self, progress: Progress, terminal: TextIO | None = None) -> None:
        self._progress = progress
        self._terminal = terminal
        self._started = self._told = time.monotonic()

    @classmethod
    def on_terminal(cls, progress: Progress) -> Self:
        """Return one that refreshes its line if standard error is a terminal and `progress` is not silent."""
        return cls(progress, sys.stderr if progress is not silent and sys.stderr.isatty() else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._terminal is not None:
            self._terminal.write("\r\x1b[K")
            self._terminal.flush()

    def beat(self, text: str) -> None:
        """Report `text` and the seconds since the start, if a report is due."""
        now = time.monotonic()
        every = LINE_EVERY_SECONDS if self._terminal is None else REFRESH_EVERY_SECONDS
        if now - self._told < every:
            return
        self._told = now
        line = f"{text} ({now - self._started:.0f} s)"
        if self._terminal is None:
            self._progress(line)
        else:
            self._terminal.write(f"\r\x1b[K{line}")
            self._terminal.flush()
