"""Preconditions of writes, in the bodies sent to the transport: no write overwrites an object changed since."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import OutOfDate
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpResponse
from coxswain.kernel.api.writer import NEVER_STORED, Writer
from coxswain.kernel.objects.projection import Projection
from coxswain.webapp.kinds import DEPLOYMENT
from coxswain.webapp.spec import Status
from coxswain.webapp.workload import WORKLOAD
from rendered import desired, observe
from unit.objects import observed_webapp, stored, webapp

MANIFEST = desired(webapp())[-1]
LIVE = stored(MANIFEST, version=42, uid="live-uid")
UID_AND_VERSION = {"uid": "live-uid", "resourceVersion": "42"}
STATUS: Any = {"observedGeneration": 1}


class Recording:
    """A transport that keeps the sent requests and answers each with one object."""

    host = "http://model"

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    async def send(
        self,
        method: str,
        path: str,  # noqa: ARG002
        *,
        query: Sequence[tuple[str, str]],  # noqa: ARG002
        headers: Mapping[str, str],  # noqa: ARG002
        body: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
        seconds: float,  # noqa: ARG002
        check: Callable[[], None] = lambda: None,
    ) -> HttpResponse:
        check()
        self.sent.append((method, body))
        return HttpResponse(200, json.dumps(LIVE).encode())

    def invalidate_credentials(self) -> None:
        """Do nothing: there are no credentials."""

    async def close(self) -> None:
        """Do nothing: there are no connections."""


Write = Callable[[Writer, Projection], Awaitable[object]]


def writer_for(transport: Recording) -> Writer:
    return Writer(Client(transport, Throttle(in_flight=1), timeout=1, page_size=1), WORKLOAD.projector)


def sent(write: Write) -> Any:
    """Return the body of the last request of a write for the live Deployment."""
    transport = Recording()
    asyncio.run(_awaited(write(writer_for(transport), observe(DEPLOYMENT, LIVE))))
    return transport.sent[-1][1]


async def _awaited(write: Awaitable[object]) -> None:
    await write


def identity(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: body["metadata"].get(name) for name in UID_AND_VERSION}


def test_an_update_meets_the_object_that_it_was_decided_on() -> None:
    body = sent(lambda writer, live: writer.update(MANIFEST, live, force=True))
    assert identity(body) == UID_AND_VERSION
    assert body["spec"] == MANIFEST["spec"]


def test_replicas_are_kept_of_the_object_that_was_observed() -> None:
    body = sent(lambda writer, live: writer.keep(live, ("f:spec", "f:replicas"), 3))
    assert identity(body) == UID_AND_VERSION
    assert body["spec"] == {"replicas": 3}


@pytest.mark.parametrize("orphan", [False, True])
def test_a_delete_meets_the_object_that_was_observed(orphan: bool) -> None:
    body = sent(lambda writer, live: writer.remove(live, orphan=orphan))
    assert body["preconditions"] == UID_AND_VERSION
    assert body["propagationPolicy"] == ("Orphan" if orphan else "Background")


def test_a_status_meets_the_webapp_that_it_was_computed_from() -> None:
    status: Status = STATUS
    found = observed_webapp(version=7, uid="uid-1")
    body = sent(lambda writer, _: writer.write_status(found, status))
    assert identity(body) == {"uid": "uid-1", "resourceVersion": "7"}


def test_a_create_meets_no_object() -> None:
    body = sent(lambda writer, _: writer.create(MANIFEST))
    assert identity(body) == {"uid": None, "resourceVersion": NEVER_STORED}


@pytest.mark.parametrize(
    "write",
    [
        lambda writer, live: writer.release(live, lambda *_: True),
        lambda writer, live: writer.take_ownership(live, [("f:spec", "f:replicas")]),
    ],
    ids=["release", "take ownership"],
)
def test_managed_fields_are_those_that_were_observed(write: Write) -> None:
    assert {"op": "replace", "path": "/metadata/resourceVersion", "value": "42"} in sent(write)


@pytest.mark.parametrize(
    "write",
    [
        lambda writer, _: writer.create(MANIFEST),
        lambda writer, live: writer.update(MANIFEST, live, force=True),
        lambda writer, live: writer.keep(live, ("f:spec", "f:replicas"), 3),
        lambda writer, live: writer.take_ownership(live, [("f:spec", "f:replicas")]),
        lambda writer, live: writer.release(live, lambda *_: True),
        lambda writer, live: writer.remove(live),
    ],
    ids=["create", "update", "keep", "take ownership", "release", "remove"],
)
def test_a_check_prevents_each_write_of_its_writer(write: Write) -> None:
    def outdated() -> None:
        raise OutOfDate("the parent has changed")

    transport, live = Recording(), observe(DEPLOYMENT, LIVE)
    writer = writer_for(transport)
    with pytest.raises(OutOfDate):
        asyncio.run(_awaited(write(writer.checking(outdated), live)))
    assert [method for method, _ in transport.sent if method != "GET"] == []
    asyncio.run(_awaited(write(writer, live)))
    assert [method for method, _ in transport.sent if method != "GET"] != []
