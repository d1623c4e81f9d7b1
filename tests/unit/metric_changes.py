"""The changes of metrics during a test."""

import re
from collections.abc import Iterator

from prometheus_client import REGISTRY

OURS = re.compile(r"(?!python_|process_)\w+")
QUEUE = {"name": "webapp", "controller": "webapp"}


def sample(name: str, /, **labels: str) -> float:
    """Return the value of a series, or 0."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


class Change:
    """The changes of series since its creation."""

    def __init__(self) -> None:
        self._before = dict(self._read())

    @staticmethod
    def _read() -> Iterator[tuple[tuple[str, frozenset[tuple[str, str]]], float]]:
        for family in REGISTRY.collect():
            for each in family.samples:
                yield (each.name, frozenset(each.labels.items())), each.value

    def of(self, name: str, /, **labels: str) -> float:
        """Return the change of one series."""
        return sample(name, **labels) - self._before.get((name, frozenset(labels.items())), 0.0)
