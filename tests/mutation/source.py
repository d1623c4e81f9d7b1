"""A copy of the operator's source with one change."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "operator"

_BESIDE = ("kubectl_coxswain", "example")
"""Packages beside `coxswain`."""


class NotApplicable(Exception):
    """The replaced text does not occur exactly once."""


@dataclass(frozen=True)
class Change:
    """A replacement at one place in the operator's source."""

    file: str
    """Path below operator/coxswain; of another package, below operator."""
    old: str
    new: str

    def within(self, root: Path) -> Path:
        """Return the changed file below a source root.

        Raises:
            NotApplicable: there is no such file.
        """
        path = root / self.file if self.file.partition("/")[0] in _BESIDE else root / "coxswain" / self.file
        if not path.is_file():
            raise NotApplicable(f"{self.file}: there is no such file")
        return path

    def applied(self, text: str) -> str:
        """Return the text of the file with the change.

        Raises:
            NotApplicable: the old text does not occur exactly once.
        """
        count = text.count(self.old)
        if count != 1:
            raise NotApplicable(f"{self.file}: {self.old!r} occurs {count} times, not once")
        return text.replace(self.old, self.new)


def check(change: Change) -> None:
    """Check that a change can be applied to the source.

    Raises:
        NotApplicable: it cannot be applied.
    """
    path = change.within(SOURCE)
    compile(change.applied(path.read_text(encoding="utf-8")), str(path), "exec")


@contextmanager
def changed_source(*changes: Change) -> Iterator[Path]:
    """Yield a source root for Python's path with these changes.

    Raises:
        NotApplicable: a change cannot be applied.
    """
    with tempfile.TemporaryDirectory(prefix="coxswain-mutant-") as folder:
        root = Path(folder) / "operator"
        shutil.copytree(SOURCE, root, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        for change in changes:
            path = change.within(root)
            path.write_text(change.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
        yield root
