"""Read the Warning Events about one object."""

from collections.abc import Mapping
from typing import Any

from coxswain.kernel.api.client import Client
from coxswain.kernel.objects.event_record import ReportedEvent
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.quote import abridged

READ_LIMIT = 64
"""Events of one read. A client posts at most 25 about one object in a burst, and then one in five minutes; Events live
for an hour."""
KEPT_LIMIT = 8
"""Events that are kept of a read, the newest."""


class EventReader:
    """Reads the Warning Events about objects."""

    def __init__(self, client: Client) -> None:
        """Read with `client`."""
        self._client = client

    async def warnings_about(self, subject: Projection) -> tuple[ReportedEvent, ...]:
        """Return the Warning Events about an object, the newest first.

        Raises:
            RequestFailed: also if the operator may not list Events.
        """
        found = await self._client.warnings(subject.namespace, subject.uid, READ_LIMIT)
        newest = sorted(found, key=_last_seen, reverse=True)[:KEPT_LIMIT]
        return tuple(ReportedEvent(each.get("reason") or "", abridged(each.get("note") or "")) for each in newest)


def _last_seen(event: Mapping[str, Any]) -> str:
    """Return the time of the last occurrence, cut to seconds. The kubelet sets only the deprecated field."""
    times = (
        (event.get("series") or {}).get("lastObservedTime"),
        event.get("deprecatedLastTimestamp"),
        event.get("eventTime"),
    )
    return str(next((time for time in times if time), ""))[:19]
