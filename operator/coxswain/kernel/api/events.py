"""Post Events through events.k8s.io, deduplicated."""

import logging
import os
import uuid
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import NotSent, RequestFailed
from coxswain.kernel.objects.event_record import EventRecord
from coxswain.kernel.objects.kinds import EVENT
from coxswain.kernel.objects.projection import Projection
from coxswain.kernel.objects.quote import clean, reason, without_numbers
from coxswain.metrics import event_dropped

log = logging.getLogger(__name__)

QUIET_SECONDS = 300.0
"""Seconds during which an Event with the same object, reason and message is posted only once."""
RECENT_LIMIT = 32
"""Maximum remembered Events of one object, the latest."""
_NOTE_LIMIT = 1024  # of events.k8s.io/v1
_CUT = " ... "


class RecentEvents:
    """The latest Events of one object."""

    def __init__(self) -> None:
        self._posted: OrderedDict[tuple[str, str], float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._posted)

    def remember(self, event: EventRecord, now: float) -> bool:
        """Remember an Event; tell whether it was not posted lately. `now` is in monotonic seconds."""
        self.forget_old(now)
        key = (event.reason, without_numbers(event.note))
        if key in self._posted:
            return False
        self._posted[key] = now
        if len(self._posted) > RECENT_LIMIT:
            self._posted.popitem(last=False)
        return True

    def forget_old(self, now: float) -> None:
        """Forget the Events older than `QUIET_SECONDS`."""
        while self._posted and now - next(iter(self._posted.values())) >= QUIET_SECONDS:
            self._posted.popitem(last=False)


class Recorder:
    """Posts Events about custom resources."""

    def __init__(self, client: Client, controller: str, clock: Callable[[], float]) -> None:
        """Post with `client` as the reporting `controller`; `clock` returns monotonic seconds."""
        self._controller = controller
        self._client = client
        self._clock = clock

    async def record(self, parent: Projection, event: EventRecord, recent: RecentEvents) -> None:
        """Post an Event unless the same one was posted within `QUIET_SECONDS`.

        A failed post is only logged: Events are best-effort, the status holds the state. One that was not sent, because
        this process ends or does not lead, is not even logged.
        """
        if not recent.remember(event, self._clock()):
            return
        try:
            await self._client.create(EVENT, parent.namespace, _event(parent, event, self._controller))
        except NotSent:
            return
        except RequestFailed as error:
            event_dropped()
            log.warning("posting an Event failed: %s", error)


def _event(parent: Projection, event: EventRecord, controller: str) -> dict[str, object]:
    return {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.kind,
        "metadata": {"name": f"{parent.name}.{uuid.uuid4().hex[:16]}", "namespace": parent.namespace},
        "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": controller,
        "reportingInstance": os.uname().nodename[:128],
        "action": event.action,
        "reason": reason(event.reason, "Other"),
        "note": _note(event.note),
        "type": event.type,
        "regarding": {
            "apiVersion": parent.kind.api_version,
            "kind": parent.kind.kind,
            "name": parent.name,
            "namespace": parent.namespace,
            "uid": parent.uid,
            "resourceVersion": str(parent.version),
        },
    }


def _note(text: str) -> str:
    """Return a text with the middle cut out if it exceeds the limit in bytes: it ends with the next command."""
    note = clean(text)
    encoded, half = note.encode(), (_NOTE_LIMIT - len(_CUT)) // 2
    if len(encoded) <= _NOTE_LIMIT:
        return note
    return encoded[:half].decode(errors="ignore") + _CUT + encoded[-half:].decode(errors="ignore")
