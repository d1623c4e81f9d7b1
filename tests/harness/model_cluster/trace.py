"""The trace of a run: events with virtual times, and a hash to compare two runs."""

from collections import deque
from collections.abc import Callable
from hashlib import blake2b


class Trace:
    """Lines with virtual times."""

    def __init__(self, clock: Callable[[], float], *, keep: int = 0, show: Callable[[str], None] | None = None) -> None:
        """Keep the last lines, or show each immediately."""
        self._clock = clock
        self._hash = blake2b(digest_size=8)
        self._show = show
        self.lines: deque[str] = deque(maxlen=keep)
        self.count = 0

    def add(self, line: str) -> None:
        """Add a line."""
        self.count += 1
        stamped = f"{self._clock():10.3f}  {line}"
        self._hash.update(stamped.encode())
        self.lines.append(stamped)
        if self._show is not None:
            self._show(stamped)

    @property
    def digest(self) -> str:
        """Return a hash of all lines so far."""
        return self._hash.hexdigest()
