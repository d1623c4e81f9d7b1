"""Durations and load results: printed at the end of the suite, and stored in build/.

`python -m kind.timings` writes the table of the last run into docs/kind.md.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kind.client import Report

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "build" / "kind-timings.json"
PAGE = ROOT / "docs" / "kind.md"
BEGIN, END = "<!-- timings: begin -->\n", "<!-- timings: end -->\n"


@dataclass
class Row:
    """One timed operation, and the load during it, if any."""

    what: str
    seconds: float
    load: Report | None = None


class Timings:
    """The timed operations, in order."""

    def __init__(self) -> None:
        self._rows: list[Row] = []

    @contextmanager
    def of(self, what: str) -> Iterator[Row]:
        """Time the `with` block, unless it raises."""
        row, started = Row(what, 0), time.monotonic()
        yield row
        row.seconds = time.monotonic() - started
        self._rows.append(row)

    def keep(self) -> None:
        """Write the rows into build/."""
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps([asdict(row) for row in self._rows], indent=1), encoding="utf-8")


def read() -> Sequence[Mapping[str, Any]]:
    """Return the rows of the last run."""
    rows: list[dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return rows


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as a table of Markdown."""
    head = "| what | seconds | requests | failed | sent again | longest silence, s |\n|---|---|---|---|---|---|\n"
    return head + "".join(f"| {row['what']} | {row['seconds']:.1f} | {_load(row['load'])} |\n" for row in rows)


def _load(load: Mapping[str, Any] | None) -> str:
    if load is None:
        return " | | | "
    return f"{load['requests']} | {load['failed']} | {load['resent']} | {load['silence_seconds']:.2f}"


def main() -> None:
    """Write the table of the last run into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{table(read())}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
