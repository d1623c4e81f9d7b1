"""Renders docs/faults.md: the tests, their results, and the broken operator on which each test failed.

`python -m faults.render` writes the page from the results of `make faults` and `make faults-proof`. Each row names its
commit and date. Results of deleted tests are omitted, and those of tests that now name another break.
"""

import argparse
import contextlib
import io
from collections.abc import Mapping
from pathlib import Path

import pytest

from fault_engine.page import current, load, render
from faults import breaks

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "faults.md"
SURVIVED = ROOT / "docs" / "faults-survived.json"
PROVED = ROOT / "docs" / "faults-proved.json"
BEGIN = "<!-- results: written by make faults -->"
END = "<!-- end of results -->"

NOT_TRIED = {
    "F21": "requires an earlier release; tests/kind/test_3_releases.py upgrades and downgrades between two builds",
}
"""Faults of the table, or parts of one, without a test in this suite, with the reason; never counted."""


class _Collected:
    """A pytest plugin that records the collected tests."""

    def __init__(self) -> None:
        self.breaks: dict[str, str | None] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            marker = item.get_closest_marker("fault")
            if marker is not None:
                self.breaks[item.nodeid] = marker.kwargs.get("broken")


def tests() -> Mapping[str, str | None]:
    """Return the node ids of all tests of the suite, each with the break that it names.

    Raises:
        RuntimeError: the collection fails.
    """
    found = _Collected()
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = pytest.main([str(Path(__file__).parent), "--collect-only", "-qq", "--no-header"], plugins=[found])
    if code != pytest.ExitCode.OK:
        raise RuntimeError(f"the collection of the fault suite fails: {output.getvalue()[-1000:]}")
    return found.breaks


def main() -> None:
    """Write the generated part of the page."""
    argparse.ArgumentParser(prog="python -m faults.render", description=__doc__.partition("\n")[0]).parse_args()
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    known = tests()
    proved = current(load(PROVED), known, proofs=True)
    made = render(current(load(SURVIVED), known), proved, breaks.known(), NOT_TRIED, known)
    PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()
