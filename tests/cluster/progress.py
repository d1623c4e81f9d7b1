"""Telling a person who waits that something goes on."""

import sys
import time
from collections.abc import Callable
from typing import Self, TextIO

Progress = Callable[[str], None]

LINE_EVERY_SECONDS = 20.0
REFRESH_EVERY_SECONDS = 0.2


def silent(_line: str) -> None:
    """A Progress that tells nobody."""


class Heartbeat:
    """Repeated news of one lasting work: on a terminal one line that is refreshed, else a line every 20 seconds.

    A context manager; `beat(text)` may be called as often as there is news.
    """

    def __init__(self, progress: Progress, terminal: TextIO | None = None) -> None:
        self._progress = progress
        self._terminal = terminal
        self._started = self._told = time.monotonic()

    @classmethod
    def on_terminal(cls, progress: Progress) -> Self:
        """One that refreshes its line if the standard error is a terminal and anybody is told anything at all."""
        return cls(progress, sys.stderr if progress is not silent and sys.stderr.isatty() else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._terminal is not None:
            self._terminal.write("\r\x1b[K")
            self._terminal.flush()

    def beat(self, text: str) -> None:
        """Tell `text` and the seconds since the start, if it is time to."""
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
