"""Objects that the JSON parser of Kopf refuses: they end no watch."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web

from coxswain.kernel.objects.kinds import Kind
from coxswain.kernel.watching import kopf_watches
from coxswain.kernel.watching.event_bridge import Activity
from coxswain.kernel.watching.kopf_thread import KopfThread
from coxswain.settings import WatchSettings
from coxswain.webapp.kinds import CONTROLLER_REVISION
from unit.fake_api import opened, serving

DATA = {
    "deeply nested": b'{"a":' * 9990 + b"{}" + b"}" * 9990,
    "not UTF-8": b'{"a":"\xff"}',
    "a long integer": b'{"a":' + b"1" * 5000 + b"}",
}
"""Data of ControllerRevisions that the API server stores."""


class Names:
    """A sink that keeps the names of the objects."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def event(self, _: Kind, __: str | None, raw: Mapping[str, Any]) -> None:
        self.seen.add(raw["metadata"]["name"])

    def watch_started(self, _: Kind, __: str | None) -> None:
        pass

    def watch_activity(self, _: Kind, __: str | None, ___: Activity) -> None:
        pass


def line(name: str, data: bytes) -> bytes:
    metadata = json.dumps({"name": name, "namespace": "shop", "uid": name, "resourceVersion": "200"}).encode()
    return b'{"type":"ADDED","object":{"metadata":%s,"data":%s}}\n' % (metadata, data)


@pytest.mark.thorough
@pytest.mark.filterwarnings("default::DeprecationWarning", "default::ResourceWarning")
@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_an_object_that_the_json_parser_refuses_ends_no_watch(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of Kopf's parser ended all watches, each time when the object was delivered."""
    monkeypatch.setattr(kopf_watches, "_IDLE_SECONDS", 0.1)
    monkeypatch.setattr(kopf_watches, "_CANCEL_SECONDS", 0.1)

    async def main() -> None:
        sink, stop = Names(), asyncio.Event()
        async with serving() as api:

            async def watch(request: web.Request) -> web.StreamResponse:
                response = await opened(request)
                sent = line("hostile", data) + line("after", b"{}")
                # A chunk may end anywhere.
                await response.write(sent[:150])
                await response.write(sent[150:])
                return await api.hanging(request)

            async def connect() -> Any:
                return api.connection()

            api.watches[CONTROLLER_REVISION] = watch
            kopf = KopfThread(connect, [None], WatchSettings())
            running = asyncio.create_task(kopf.run([CONTROLLER_REVISION], sink, stop))
            async with asyncio.timeout(20):
                while sink.seen != {"hostile", "after"} and not running.done():
                    await asyncio.sleep(0.01)
            assert (sink.seen, running.done()) == ({"hostile", "after"}, False)
            stop.set()
            await running

    asyncio.run(main())
