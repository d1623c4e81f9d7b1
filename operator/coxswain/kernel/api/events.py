"""Events, through events.k8s.io: what a person should hear of, once."""

import logging
import os
import uuid
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import RequestFailed
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.kinds import EVENT
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.quote import clean, reason, without_numbers

log = logging.getLogger(__name__)

QUIET_SECONDS = 300.0
"""Seconds in which an Event with the same object, reason and note is posted at most once."""
RECENT_LIMIT = 32
"""Events that are remembered for one object at most, the latest."""
_NOTE_LIMIT = 1024  # of events.k8s.io/v1


class RecentEvents:
    """The latest Events of one object."""

    def __init__(self) -> None:
        self._posted: OrderedDict[tuple[str, str], float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._posted)

    def is_new(self, record: EventRecord, now: float) -> bool:
        """Remember an Event; tell whether it was not posted lately. `now` is in monotonic seconds."""
        self.forget_old(now)
        key = (record.reason, without_numbers(record.note))
        if key in self._posted:
            return False
        self._posted[key] = now
        if len(self._posted) > RECENT_LIMIT:
            self._posted.popitem(last=False)
        return True

    def forget_old(self, now: float) -> None:
        """Forget Events older than `QUIET_SECONDS`."""
        while self._posted and now - next(iter(self._posted.values())) >= QUIET_SECONDS:
            self._posted.popitem(last=False)


class Recorder:
    """Posts Events of parents."""

    def __init__(self, client: Client, controller: str, clock: Callable[[], float]) -> None:
        """Post with `client` as the reporting `controller`; `clock` gives monotonic seconds."""
        self._controller = controller
        self._client = client
        self._clock = clock

    async def record(self, parent: Projection, record: EventRecord, recent: RecentEvents) -> None:
        """Post an Event unless the same was posted lately.

        An Event that cannot be posted is lost: it is a notification, not state.
        """
        if not recent.is_new(record, self._clock()):
            return
        try:
            await self._client.create(EVENT, parent.namespace, _event(parent, record, self._controller))
        except RequestFailed as error:
            log.warning("an Event could not be posted: %s", error)


def _event(webapp: Projection, occurrence: EventRecord, controller: str) -> dict[str, object]:
    note = clean(occurrence.note)
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.kind,
        "metadata": {"name": f"{webapp.name}.{uuid.uuid4().hex[:16]}", "namespace": webapp.namespace},
        "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": controller,
        "reportingInstance": os.uname().nodename[:128],
        "action": occurrence.action,
        "reason": reason(occurrence.reason, "Other"),
        "note": note
        if len(note.encode()) <= _NOTE_LIMIT
        else note.encode()[: _NOTE_LIMIT - 4].decode(errors="ignore") + " ...",
        "type": occurrence.type,
        "regarding": {
            "apiVersion": webapp.kind.api_version,
            "kind": webapp.kind.kind,
            "name": webapp.name,
            "namespace": webapp.namespace,
            "uid": webapp.uid,
            "resourceVersion": str(webapp.version),
        },
    }
