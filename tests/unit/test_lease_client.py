"""Responses about Leases that come from something else than the API server, such as a proxy before it."""

import asyncio
import json
from typing import Any, cast

import pytest

from coxswain.kernel.api.errors import Undecodable
from coxswain.kernel.api.transport import HttpResponse, Transport
from coxswain.kernel.election.lease_client import LeaseClient, SlotLeasesClient
from unit.test_lease import raw

FOREIGN = [
    pytest.param({}, id="empty"),
    pytest.param({"status": "maintenance"}, id="another object"),
    pytest.param({"metadata": None}, id="metadata is null"),
    pytest.param({"metadata": "x"}, id="metadata is a text"),
    pytest.param({"metadata": {"uid": "1"}}, id="without a resourceVersion"),
    pytest.param(raw() | {"spec": "x"}, id="spec is a text"),
    pytest.param(raw() | {"spec": {"leaseDurationSeconds": "x"}}, id="duration is a text"),
    pytest.param(raw() | {"spec": {"leaseDurationSeconds": 10**400}}, id="duration is too large"),
]


class Answering:
    """A transport with one response to each request."""

    def __init__(self, body: Any) -> None:
        self._body = body

    async def send(self, *_: Any, **__: Any) -> HttpResponse:
        return HttpResponse(200, json.dumps(self._body).encode())


def transport(body: Any) -> Transport:
    return cast("Transport", Answering(body))


@pytest.mark.parametrize("body", FOREIGN)
def test_a_response_that_is_no_lease_is_a_failed_request(body: Any) -> None:
    client = LeaseClient(transport(body), "ns", "coxswain", timeout=1)
    with pytest.raises(Undecodable, match="the response is not a Lease"):
        asyncio.run(client.get())
    with pytest.raises(Undecodable, match="the response is not a Lease"):
        asyncio.run(client.update(raw()))


@pytest.mark.parametrize("body", FOREIGN)
def test_an_item_that_is_no_lease_fails_the_list(body: Any) -> None:
    client = SlotLeasesClient(transport({"items": [raw(), body]}), "ns", "coxswain", timeout=1)
    with pytest.raises(Undecodable, match="the response is not a list of Leases"):
        asyncio.run(client.leases())


@pytest.mark.parametrize("body", [{}, {"status": "maintenance"}, {"items": 7}, {"items": ["x"]}])
def test_a_response_that_is_no_list_does_not_mean_that_no_lease_exists(body: Any) -> None:
    with pytest.raises(Undecodable, match="the response is not a list of Leases"):
        asyncio.run(SlotLeasesClient(transport(body), "ns", "coxswain", timeout=1).leases())


@pytest.mark.parametrize("items", [[], None])
def test_an_empty_list(items: Any) -> None:
    client = SlotLeasesClient(transport({"items": items}), "ns", "coxswain", timeout=1)
    assert asyncio.run(client.leases()) == {}
