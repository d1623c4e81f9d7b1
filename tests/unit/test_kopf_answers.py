"""Answers that Kopf cannot read: one of them ends no watch, and the request is repeated."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from coxswain.kernel.watching import kopf_watches
from coxswain.kernel.watching.event_bridge import Activity
from coxswain.kernel.watching.kopf_thread import KopfThread
from coxswain.settings import WatchSettings
from coxswain.webapp.kinds import CONTROLLER_REVISION
from unit.fake_api import FakeApi, Handler, opened, serving, until
from unit.test_kopf_parser import line
from unit.test_kopf_watches import Recording

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def half(request: web.Request) -> web.StreamResponse:
    """Close the connection in the middle of the body."""
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "100"})
    await response.prepare(request)
    await response.write(b'{"metadata":')
    assert request.transport is not None
    request.transport.close()
    return response


async def cut(request: web.Request) -> web.StreamResponse:
    """End a watch in the middle of a line, as a proxy does whose own connection breaks."""
    response = await opened(request)
    await response.write(line("web", b"{}")[:40])
    return response


async def garbage(request: web.Request) -> web.StreamResponse:
    """Send no HTTP."""
    assert request.transport is not None
    request.transport.write(b"garbage\r\n\r\n")
    request.transport.close()
    return web.Response()


def fixed(**response: Any) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(**response)

    return answer


LATIN = "Störung".encode("latin-1")
ERRORS = {
    "a Retry-After that is a date": fixed(status=429, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}),
    "a Retry-After that is no number": fixed(status=429, headers={"Retry-After": "nan"}),
    "an error page in Latin-1": fixed(status=503, body=LATIN, content_type="text/html"),
    "an error that is a list": fixed(status=403, body=b"[1]", content_type="application/json"),
    "no HTTP": garbage,
}
LISTS = {
    "a page of HTML": fixed(body=b"<html>", content_type="text/html"),
    "another JSON object": fixed(body=b'{"metadata":null}', content_type="application/json"),
    "half a response": half,
}


async def watched(api: FakeApi, where: dict[Any, Handler], answer: Answer, usual: Handler) -> tuple[Recording, float]:
    """Watch with two bad answers, until an event arrives. Return the sink and the seconds."""
    sink, stop, bad = Recording(), asyncio.Event(), 2

    async def first_bad(request: web.Request) -> web.StreamResponse:
        nonlocal bad
        bad -= 1
        return await (answer if bad >= 0 else usual)(request)

    async def connect() -> Any:
        return api.connection()

    clock = asyncio.get_running_loop().time
    where[CONTROLLER_REVISION] = first_bad
    begun = clock()
    kopf = KopfThread(connect, [None], WatchSettings(reopen_interval=0.1))
    running = asyncio.create_task(kopf.run([CONTROLLER_REVISION], sink, stop))
    await until(lambda: running.done() or (bad < 0 and sink.activities[Activity.OPENED, CONTROLLER_REVISION]))
    assert not running.done(), running.exception()
    await api.change(CONTROLLER_REVISION, "ADDED", "web")
    await until(lambda: running.done() or ("ADDED", "web") in sink.events)
    assert not running.done(), running.exception()
    stop.set()
    await running
    return sink, clock() - begun


@pytest.fixture(autouse=True)
def quick_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kopf_watches, "_IDLE_SECONDS", 0.1)
    monkeypatch.setattr(kopf_watches, "_CANCEL_SECONDS", 0.1)


pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("default::DeprecationWarning", "default::ResourceWarning"),
]


@pytest.mark.parametrize("answer", [*ERRORS.values(), cut], ids=[*ERRORS, "half a line"])
def test_a_bad_answer_to_a_watch_ends_no_watch(answer: Answer) -> None:
    """An error of Kopf ended all watches, and all kinds were listed again."""

    async def main() -> None:
        async with serving() as api:
            sink, _ = await watched(api, api.watches, answer, api.watch)
            assert sink.starts[CONTROLLER_REVISION] == 1

    asyncio.run(main())


@pytest.mark.parametrize("answer", [*ERRORS.values(), *LISTS.values()], ids=[*ERRORS, *LISTS])
def test_a_bad_answer_to_a_list_ends_no_watch_and_is_repeated_with_backoff(answer: Answer) -> None:
    """Half a LIST was repeated ten times a second. It counted as a LIST, so that nothing noticed the missing watch."""

    async def main() -> None:
        async with serving() as api:
            sink, seconds = await watched(api, api.lists, answer, api.list)
            assert sink.activities[Activity.FAILED, CONTROLLER_REVISION] == 2
            assert sink.activities[Activity.LISTED, CONTROLLER_REVISION] == 1
            assert seconds > 1.4

    asyncio.run(main())
