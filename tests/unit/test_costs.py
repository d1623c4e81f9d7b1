"""What large content and many Events cost, counted rather than timed."""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest

from coxswain.kernel.api import events
from coxswain.kernel.api.events import QUIET_SECONDS, REMEMBERED_LIMIT, Recorder
from coxswain.kernel.objects.event_record import EventRecord
from rendered import desired
from unit.objects import observed_webapp, webapp

FILES = [{"path": f"/etc/f{number}", "content": "x" * 12_000} for number in range(60)]
CONFIG = {f"K{number}": "v" * 100 for number in range(256)}


def test_content_is_hashed_once_however_many_variables_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []
    sha256 = hashlib.sha256

    def counted(content: bytes) -> Any:
        hashed.append(len(content))
        return sha256(content)

    monkeypatch.setattr(hashlib, "sha256", counted)
    app = webapp(files=FILES, config=CONFIG)
    began = time.process_time()
    first = desired(app)
    print(f"720 kB of files and 256 names: {1000 * (time.process_time() - began):.1f} ms")
    assert sum(size > 1000 for size in hashed) == 1
    assert desired(app) == first
    assert sum(size > 1000 for size in hashed) == 1


class Posted:
    """Counts what is posted."""

    def __init__(self) -> None:
        self.count = 0

    async def create(self, *_: Any) -> None:
        self.count += 1


async def _record(recorder: Recorder, numbers: range) -> None:
    for number in numbers:
        webapp = observed_webapp(f"w{number}", uid=f"u{number}")
        await recorder.record(webapp, EventRecord("Created", "Create", "created x"))


def test_events_told_are_dropped_from_the_oldest_on() -> None:
    posted, now = Posted(), [0.0]
    recorder = Recorder(posted, "coxswain.dev/operator", lambda: now[0])  # type: ignore[arg-type]
    asyncio.run(_record(recorder, range(10)))
    now[0] = QUIET_SECONDS - 1
    asyncio.run(_record(recorder, range(5, 15)))
    assert posted.count == 15
    now[0] = QUIET_SECONDS
    asyncio.run(_record(recorder, range(15)))
    assert posted.count == 25, "those of the beginning may be told again, the later ones may not"


class Counting(OrderedDict[Any, float]):
    """A table that counts how often one of its entries is looked at in turn."""

    looks = 0

    def __iter__(self) -> Iterator[Any]:
        for key in super().__iter__():
            self.looks += 1
            yield key

    def items(self) -> Any:
        return [(key, self[key]) for key in self]

    def values(self) -> Any:
        return (self[key] for key in self)


def test_an_event_costs_the_same_however_many_were_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """K20: the table was built anew at each Event."""
    monkeypatch.setattr(events, "REMEMBERED_LIMIT", 1000)
    recorder = Recorder(Posted(), "coxswain.dev/operator", lambda: 0.0)  # type: ignore[arg-type]
    recorder._posted = told = Counting()
    asyncio.run(_record(recorder, range(1500)))
    assert told.looks <= 1500
    assert recorder._posted is told, "it is the same table still"


def test_events_told_are_bounded() -> None:
    recorder = Recorder(Posted(), "coxswain.dev/operator", lambda: 0.0)  # type: ignore[arg-type]
    asyncio.run(_record(recorder, range(REMEMBERED_LIMIT + 100)))
    assert len(recorder._posted) == REMEMBERED_LIMIT
