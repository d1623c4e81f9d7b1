"""Answers of the API server that are JSON, but not the object of the request."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import ErrorClass, Undecodable
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpResponse
from coxswain.kernel.api.writer import Writer
from coxswain.kernel.objects.projection import LEVELS_LIMIT, Projection
from coxswain.webapp.kinds import DEPLOYMENT
from coxswain.webapp.workload import WORKLOAD
from rendered import observe
from unit.objects import observed_webapp
from unit.test_preconditions import LIVE, MANIFEST, STATUS, Recording


def nested() -> dict[str, Any]:
    """Return a Deployment with a raw field of too many levels, which anyone may write to managedFields."""
    fields: dict[str, Any] = {}
    for _ in range(LEVELS_LIMIT + 1):
        fields = {"f:a": fields}
    entry = {"manager": "x", "operation": "Update", "fieldsV1": fields}
    return {**LIVE, "metadata": {**LIVE["metadata"], "managedFields": [entry]}}


class Odd(Recording):
    """A transport that answers with another object."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self._body = body

    async def send(self, *args: Any, **request: Any) -> HttpResponse:
        await super().send(*args, **request)
        return HttpResponse(200, json.dumps(self._body).encode())


REQUESTS: dict[str, Callable[[Writer, Projection], Awaitable[object]]] = {
    "create": lambda writer, _: writer.create(MANIFEST),
    "update": lambda writer, live: writer.update(MANIFEST, live, force=True),
    "keep": lambda writer, live: writer.keep(live, ("f:spec", "f:replicas"), 3),
    "take ownership": lambda writer, live: writer.take_ownership(live, [("f:spec", "f:replicas")]),
    "release": lambda writer, live: writer.release(live, lambda *_: True),
    "status": lambda writer, _: writer.write_status(observed_webapp(), STATUS),
    "remove from status": lambda writer, _: writer.remove_from_status(observed_webapp(), ["/stray"]),
    "read": lambda writer, _: writer.read(MANIFEST),
    "read parent": lambda writer, _: writer.read_parent(observed_webapp()),
    "read record": lambda writer, _: writer.read_record(DEPLOYMENT, "shop", "web"),
    "read whole": lambda writer, live: writer.read_whole(live),
}


@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("body", [{"kind": "Status"}, {"metadata": None}, {"metadata": []}, nested()])
def test_an_answer_that_is_no_readable_object_is_a_failed_request(request_name: str, body: Any) -> None:
    """It was an internal error: it ended the reconcile without a status, and was not reported."""

    async def sent() -> None:
        client = Client(Odd(body), Throttle(in_flight=1), timeout=1, page_size=1)
        await REQUESTS[request_name](Writer(client, WORKLOAD.projector), observe(DEPLOYMENT, LIVE))

    with pytest.raises(Undecodable) as raised:
        asyncio.run(sent())
    assert raised.value.error_class is ErrorClass.TRANSIENT
