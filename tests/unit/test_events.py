"""Events: the same Event is posted at most once in five minutes, and a failed post has no other effect."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import NotLeading, RequestFailed, ShuttingDown
from coxswain.kernel.api.events import QUIET_SECONDS, RECENT_LIMIT, RecentEvents, Recorder
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.kinds import Kind
from unit.metric_changes import Change
from unit.objects import observed_webapp
from unit.server import refusal


class Posts(Client):
    """Keeps the created objects."""

    def __init__(self) -> None:
        self.posted: list[dict[str, Any]] = []
        self.error: RequestFailed | None = None

    async def create(self, kind: Kind, namespace: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        if self.error is not None:
            raise self.error
        assert (kind.plural, namespace) == ("events", "shop")
        self.posted.append(dict(manifest))
        return {}


def test_an_equal_event_is_posted_once_in_five_minutes() -> None:
    posts, now = Posts(), 0.0
    recorder, recent = Recorder(posts, "coxswain.dev/operator", lambda: now), RecentEvents()

    def tell(note: str) -> int:
        asyncio.run(recorder.record(observed_webapp(), EventRecord("Reason", "Apply", note), recent))
        return len(posts.posted)

    assert [tell("a"), tell("a"), tell("b")] == [1, 1, 2]
    assert [tell("c; message: at 12:00"), tell("c; message: at 12:01")] == [3, 3], (
        "numbers in a quotation do not make another Event"
    )
    now = 299.0
    assert tell("a") == 3
    now = 301.0
    assert tell("a") == 4


def test_the_oldest_are_forgotten_first_and_all_in_time() -> None:
    recent = RecentEvents()
    for number in range(RECENT_LIMIT + 10):
        assert recent.remember(EventRecord(f"R{number}", "Apply", "a"), 0.0)
    assert len(recent) == RECENT_LIMIT
    assert not recent.remember(EventRecord("R20", "Apply", "a"), 1.0)
    assert recent.remember(EventRecord("R0", "Apply", "a"), 1.0), "the Event may be posted again"
    recent.forget_old(QUIET_SECONDS + 1.0)
    assert len(recent) == 0


def test_a_long_note_is_cut_to_what_the_api_takes() -> None:
    posts = Posts()
    asyncio.run(
        Recorder(posts, "coxswain.dev/operator", lambda: 0.0).record(
            observed_webapp(), EventRecord("Reason", "Apply", "ä" * 2000 + " See: kubectl get pods"), RecentEvents()
        )
    )
    note = posts.posted[0]["note"]
    assert 1000 < len(note.encode()) <= 1024
    assert note.startswith("ä")
    assert note.endswith(" See: kubectl get pods")


@pytest.mark.parametrize(
    ("error", "dropped"), [(refusal(403), 1), (NotLeading("no leader"), 0), (ShuttingDown("ends"), 0)]
)
def test_one_that_cannot_be_posted_is_lost(
    error: RequestFailed, dropped: int, caplog: pytest.LogCaptureFixture
) -> None:
    """One that was not sent for a reason of this process is no failure."""
    posts, drops = Posts(), Change()
    posts.error = error
    asyncio.run(
        Recorder(posts, "coxswain.dev/operator", lambda: 0.0).record(
            observed_webapp(), EventRecord("Reason", "Apply", "a"), RecentEvents()
        )
    )
    assert posts.posted == []
    assert drops.of("coxswain_events_dropped_total") == dropped
    assert len(caplog.records) == dropped
