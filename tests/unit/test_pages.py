"""Pages of a LIST: as many objects as fit, whatever their size."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from aiohttp import web

from coxswain.kernel.api.client import Client, decode, next_limit
from coxswain.kernel.api.errors import Refused, TooLarge, Undecodable, Unreachable
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpResponse, Transport
from coxswain.kernel.objects.kinds import Kind
from coxswain.webapp.kinds import CONFIG_MAP, REFERENCED_CONFIG_MAP, SERVICE
from unit.fake_api import serving
from unit.test_client import client_of


class Collection(Transport):
    """Serves objects of one size in pages."""

    host = "http://model"

    def __init__(self, count: int, size: int) -> None:
        self.objects = [{"metadata": {"name": str(number)}, "pad": "x" * size} for number in range(count)]
        self.limits: list[int] = []
        self.too_slow_beyond = self.too_large_beyond = 10_000
        self.refusals: list[HttpResponse] = []

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
        body: Any,
        seconds: float,
        check: Callable[[], None] = lambda: None,  # noqa: ARG002
    ) -> HttpResponse:
        assert (method, body) == ("GET", None)
        assert (bool(path), bool(headers), bool(seconds)) == (True, True, True)
        asked = dict(query)
        limit, start = int(asked["limit"]), int(asked.get("continue", 0))
        self.limits.append(limit)
        if self.refusals:
            return self.refusals.pop()
        if limit > self.too_large_beyond:
            raise TooLarge("more than 12 MiB")
        if limit > self.too_slow_beyond:
            raise Unreachable("timed out") from TimeoutError()
        items = self.objects[start : start + limit]
        more = {"continue": str(start + limit)} if start + limit < len(self.objects) else {}
        page = {"metadata": {"resourceVersion": "7", **more}, "items": items}
        return HttpResponse(200, json.dumps(page).encode())

    def invalidate_credentials(self) -> None:
        raise AssertionError

    async def close(self) -> None:
        pass


def client_with(collection: Collection) -> Client:
    return Client(collection, Throttle(in_flight=1), timeout=1, page_size=500)


async def listed(client: Client, kind: Kind) -> list[str]:
    """LIST a kind. Return the names."""
    return [item["metadata"]["name"] async for page in client.pages(kind, None) for item in page["items"]]


def names(collection: Collection, lists: int = 1) -> list[str]:
    """LIST this number of times. Return the names from the last LIST."""
    client = client_with(collection)
    return [asyncio.run(listed(client, CONFIG_MAP)) for _ in range(lists)][-1]


def test_small_objects_come_in_large_pages() -> None:
    collection = Collection(2000, 10)
    assert len(names(collection)) == 2000
    assert collection.limits == [16, 64, 256, 500, 500, 500, 500]


def test_a_second_list_begins_as_the_first_one_ended() -> None:
    collection = Collection(400, 10)
    assert len(names(collection, lists=2)) == 400
    assert collection.limits == [16, 64, 256, 500, 500]


def test_of_large_objects_few_fit() -> None:
    """K29, S4: pages had 500 objects, whatever their size."""
    collection = Collection(40, 1_000_000)
    assert len(names(collection)) == 40
    assert collection.limits == [16, *[4] * 6]


def test_a_page_that_is_too_large_is_halved_until_it_is_not() -> None:
    collection = Collection(6, 10)
    collection.too_large_beyond = 3
    assert names(collection) == [str(number) for number in range(6)]
    assert collection.limits[:4] == [16, 8, 4, 2]
    assert min(collection.limits) == 2


def test_a_later_page_that_takes_too_long_is_halved_until_it_does_not() -> None:
    collection = Collection(400, 10)
    collection.too_slow_beyond = 20
    assert names(collection) == [str(number) for number in range(400)]
    assert collection.limits[:4] == [16, 64, 32, 16]


def test_a_first_page_that_takes_too_long_is_a_failure_and_smaller_in_the_next_list() -> None:
    """A LIST that hangs was reported only after four minutes: each smaller page had its own timeout."""
    collection = Collection(6, 10)
    collection.too_slow_beyond = 3
    client = client_with(collection)
    for limit in (16, 8, 4):
        with pytest.raises(Unreachable):
            asyncio.run(listed(client, CONFIG_MAP))
        assert collection.limits == [limit]
        collection.limits.clear()
    assert asyncio.run(listed(client, CONFIG_MAP)) == [str(number) for number in range(6)]
    assert collection.limits[0] == 2


def test_one_object_that_is_too_large_is_a_failure() -> None:
    collection = Collection(3, 10)
    collection.too_large_beyond = 0
    with pytest.raises(TooLarge):
        names(collection)
    assert collection.limits == [16, 8, 4, 2, 1]


def test_the_metadata_of_a_kind_has_a_page_limit_of_its_own() -> None:
    """After a LIST of the metadata, the first page of whole ConfigMaps was as large as a page of metadata."""
    collection = Collection(2000, 10)
    client = client_with(collection)
    asyncio.run(listed(client, REFERENCED_CONFIG_MAP))
    assert collection.limits[-1] == 500
    collection.limits.clear()
    asyncio.run(listed(client, CONFIG_MAP))
    assert collection.limits[:2] == [16, 64]


def test_a_refusal_is_no_matter_of_size() -> None:
    collection = Collection(3, 10)
    collection.refusals = [HttpResponse(500, b"{}")]
    with pytest.raises(Refused):
        names(collection)
    assert collection.limits == [16]


@pytest.mark.parametrize(
    ("limit", "count", "size", "expected"),
    [(16, 16, 16 * 1_500_000, 2), (1, 1, 9_000_000, 1), (500, 500, 100_000, 500), (4, 4, 400, 16), (2, 2, 0, 8)],
)
def test_how_many_objects_the_next_page_has(limit: int, count: int, size: int, expected: int) -> None:
    assert next_limit(limit, count, size, 500) == expected


def test_a_response_that_is_no_json_object_cannot_be_decoded() -> None:
    for payload in (b"[]", b"<html>", b'{"items":' + b"[" * 2000):
        with pytest.raises(Undecodable, match="is not a JSON object"):
            decode(HttpResponse(200, payload))


def test_one_deeply_nested_object_prevents_no_list() -> None:
    """The JSON parser has a limit of levels: the page of such an object could not be decoded, at any size."""
    deep = b'{"a":' * 9990 + b"{}" + b"}" * 9990
    page = b'{"items":[{"metadata":{"name":"hostile"},"data":' + deep + b'},{"metadata":{"name":"good"}}]}'
    assert [item["metadata"]["name"] for item in decode(HttpResponse(200, page))["items"]] == ["hostile", "good"]
    with pytest.raises(Refused):
        decode(HttpResponse(500, deep))


def test_one_object_that_is_not_utf_8_prevents_no_list() -> None:
    """The API server stores raw JSON with any bytes, and the page of such an object could not be decoded."""
    page = b'{"items":[{"metadata":{"name":"hostile"},"data":"\xff"},{"metadata":{"name":"good"}}]}'
    assert [item["metadata"]["name"] for item in decode(HttpResponse(200, page))["items"]] == ["hostile", "good"]


def test_an_answer_without_end_is_not_read_to_its_end() -> None:
    """The next objects may be larger than all before, so the bytes read are limited, not only the number requested."""
    cut = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b" " * 2**20)
        finally:
            cut.set()

    async def whole() -> None:
        async with serving() as api, client_of(api) as client:
            api.instead = endless
            with pytest.raises(TooLarge, match="the response exceeds 12 MiB"):
                await client.get(SERVICE, "shop", "web")
            # Its connection is closed. Otherwise the rest would be read as the next response.
            await cut.wait()

    asyncio.run(asyncio.wait_for(whole(), 30))
