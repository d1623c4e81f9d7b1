"""Events about one object: one bounded LIST, the newest first."""

import asyncio
from typing import Any

from coxswain.kernel.api.event_reader import KEPT_LIMIT, EventReader
from coxswain.kernel.objects.event_record import ReportedEvent
from coxswain.webapp.kinds import POD
from unit.objects import observed_child


class Listed:
    """Answers with Events and keeps the arguments."""

    def __init__(self, *events: dict[str, Any]) -> None:
        self.events = list(events)
        self.asked: list[tuple[str, str]] = []

    async def warnings(self, namespace: str, uid: str, limit: int) -> list[dict[str, Any]]:
        assert limit <= 100
        self.asked.append((namespace, uid))
        return self.events


def read(listed: Listed) -> tuple[ReportedEvent, ...]:
    reader = EventReader(listed)  # type: ignore[arg-type]
    return asyncio.run(reader.warnings_about(observed_child(POD, "web-1", uid="pod-1")))


def event(note: str, **times: Any) -> dict[str, Any]:
    return {"reason": "FailedMount", "note": note, "eventTime": None, "deprecatedLastTimestamp": None, **times}


def test_the_newest_is_first_whatever_field_has_its_time() -> None:
    listed = Listed(
        event("none"),
        event("old", deprecatedLastTimestamp="2026-01-01T12:00:01Z"),
        event("series", eventTime="2026-01-01T11:00:00.5Z", series={"lastObservedTime": "2026-01-01T12:00:03.25Z"}),
        event("new", eventTime="2026-01-01T12:00:02.000001Z"),
    )
    assert [each.note for each in read(listed)] == ["series", "new", "old", "none"]
    assert listed.asked == [("shop", "pod-1")]


def test_few_are_kept_and_their_notes_are_one_short_line() -> None:
    listed = Listed(*(event(f"{number}\n{'x' * 2000}") for number in range(60)), {"metadata": {}})
    found = read(listed)
    assert len(found) == KEPT_LIMIT
    assert all(len(each.note) < 700 and "\n" not in each.note for each in found)
