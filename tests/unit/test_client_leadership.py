"""The client writes only while its process leads, whatever a write has to wait for."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from coxswain.kernel.api.client import Client
from coxswain.kernel.api.errors import NotLeading
from coxswain.kernel.api.transport import HttpTransport
from coxswain.kernel.objects.kinds import EVENT
from coxswain.webapp.kinds import SERVICE, WEBAPP
from unit.fake_api import serving, until
from unit.test_client import MANIFEST, Answers, client_of

WRITES: dict[str, Callable[[Client], Awaitable[object]]] = {
    "create": lambda client: client.create(EVENT, "shop", {}),
    "apply": lambda client: client.apply(SERVICE, MANIFEST, field_manager="x", force=True),
    "patch": lambda client: client.json_patch(SERVICE, "shop", "web", []),
    "delete": lambda client: client.delete(SERVICE, "shop", "web", uid="u", version=1),
}


@pytest.mark.parametrize("write", WRITES)
def test_without_leadership_nothing_is_written_and_all_is_read(write: str) -> None:
    asked: list[str] = []

    def leads(namespace: str) -> bool:
        asked.append(namespace)
        return False

    async def body() -> None:
        async with serving() as api, client_of(api, leads=leads) as client:
            answers = Answers(api)
            with pytest.raises(NotLeading, match="does not lead"):
                await WRITES[write](client)
            assert (answers.count, asked) == (0, ["shop"])
            await client.get(WEBAPP, "shop", "web")
            assert [page async for page in client.pages(WEBAPP, None)]
            assert (answers.count, asked) == (2, ["shop"])

    asyncio.run(body())


def test_leadership_counts_after_the_wait_for_a_turn() -> None:
    """The wait may outlast the leadership."""
    leading = [True]

    async def body() -> None:
        async with serving() as api, client_of(api, in_flight=1, leads=lambda _: leading[0]) as client:
            answers = Answers(api)
            answers.gate.clear()
            first = asyncio.create_task(client.apply(SERVICE, MANIFEST, field_manager="x", force=True))
            await until(lambda: answers.under_way)
            second = asyncio.create_task(client.apply(SERVICE, MANIFEST, field_manager="x", force=True))
            await asyncio.sleep(0)
            leading[0] = False
            answers.gate.set()
            assert await first
            with pytest.raises(NotLeading):
                await second
            assert answers.count == 1

    asyncio.run(body())


def test_leadership_counts_after_the_wait_for_credentials_and_a_connection() -> None:
    """An exec plugin may take seconds, and a TLS handshake too."""
    leading = [True]

    async def body() -> None:
        async with serving() as api, client_of(api, leads=lambda _: leading[0]) as client:
            answers, connection = Answers(api), api.connection()
            reading, read = asyncio.Event(), asyncio.Event()

            async def authorization() -> None:
                reading.set()
                await read.wait()

            connection.authorization = authorization  # type: ignore[method-assign]
            client._transport = HttpTransport(connection)
            write = asyncio.create_task(client.apply(SERVICE, MANIFEST, field_manager="x", force=True))
            await reading.wait()
            leading[0] = False
            read.set()
            with pytest.raises(NotLeading, match="services/web was not sent"):
                await write
            await client.get(WEBAPP, "shop", "web")
            assert answers.count == 1, "the GET only"

    asyncio.run(body())
