"""The client: requests in flight, pauses requested by the server, tokens, and the shutdown."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from cluster.certificates import create_authority
from coxswain.kernel.api.client import Client
from coxswain.kernel.api.connection import connection
from coxswain.kernel.api.errors import ErrorClass, Refused, ShuttingDown
from coxswain.kernel.api.throttle import Throttle
from coxswain.kernel.api.transport import HttpTransport
from coxswain.webapp.kinds import SERVICE, WEBAPP
from model_cluster.chance import Chance
from model_cluster.virtual import VirtualLoop, run
from rendered import KINDS
from unit.fake_api import FakeApi, serving, until, written_kubeconfig

MANIFEST = {"metadata": {"namespace": "shop", "name": "web"}}


@asynccontextmanager
async def client_of(
    api: FakeApi, in_flight: int = 8, leads: Callable[[str], bool] = lambda _: True
) -> AsyncIterator[Client]:
    """A client without jitter."""
    throttle = Throttle(in_flight=in_flight, chance=lambda: 0.0)
    client = Client(HttpTransport(api.connection()), throttle, timeout=10, page_size=2, leads=leads)
    try:
        yield client
    finally:
        await client.close()


class Answers:
    """Answers the requests of one kind in order, and counts those in flight."""

    def __init__(self, api: FakeApi) -> None:
        self.refuse: list[web.Response] = []
        self.under_way = self.most = self.count = 0
        self.gate = asyncio.Event()
        self.gate.set()
        api.instead = self.answer

    async def answer(self, _: web.Request) -> web.Response:
        self.count += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.gate.wait()
        finally:
            self.under_way -= 1
        return self.refuse.pop(0) if self.refuse else web.json_response({"metadata": {"resourceVersion": "1"}})


def refusal(status: int, header: str | None = None, **details: int) -> web.Response:
    """Return a Status."""
    headers = {"Retry-After": header} if header else {}
    return web.json_response({"reason": "No", "details": details}, status=status, headers=headers)


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (("7",), 7),
        ((None,), None),
        (("Wed, 21 Oct 2026 07:28:00 GMT",), None),
        (("-1",), None),
    ],
)
def test_retry_after_is_parsed(answer: tuple[str | None], seconds: float | None) -> None:
    async def body() -> None:
        async with serving() as api, client_of(api) as client:
            answers = Answers(api)
            answers.refuse = [refusal(429, *answer), refusal(503, retryAfterSeconds=9)]
            with pytest.raises(Refused) as refused:
                await client.get(WEBAPP, "shop", "web")
            assert refused.value.retry_after == seconds
            assert refused.value.error_class is ErrorClass.TRANSIENT
            assert answers.count == 1, "the library does not retry by itself"

    asyncio.run(body())


def test_retry_after_in_the_body_is_parsed() -> None:
    async def body() -> None:
        async with serving() as api, client_of(api) as client:
            Answers(api).refuse = [refusal(503, retryAfterSeconds=9)]
            with pytest.raises(Refused) as refused:
                await client.get(WEBAPP, "shop", "web")
            assert refused.value.retry_after == 9

    asyncio.run(body())


@pytest.mark.thorough
def test_a_429_delays_requests_of_the_same_type_only() -> None:
    async def body() -> None:
        async with serving() as api, client_of(api) as client:
            answers = Answers(api)
            answers.refuse = [refusal(429, "1")]
            with pytest.raises(Refused):
                await client.get(WEBAPP, "shop", "web")
            refused = asyncio.get_running_loop().time()
            reads = [asyncio.create_task(client.get(WEBAPP, "shop", "web")) for _ in range(3)]
            await client.apply(SERVICE, MANIFEST, field_manager="x", force=True)
            assert (answers.count, answers.most) == (2, 1), "the write was sent during the pause, the reads were not"
            await asyncio.gather(*reads)
            assert asyncio.get_running_loop().time() - refused > 0.9

    asyncio.run(body())


def test_only_a_429_delays_other_requests() -> None:
    async def body() -> None:
        async with serving() as api, client_of(api) as client:
            Answers(api).refuse = [refusal(503, "5")]
            clock = asyncio.get_running_loop().time
            begun = clock()
            with pytest.raises(Refused):
                await client.get(WEBAPP, "shop", "web")
            await client.get(WEBAPP, "shop", "web")
            assert clock() - begun < 5

    asyncio.run(body())


def test_the_number_of_in_flight_requests_is_limited() -> None:
    async def body() -> None:
        async with serving() as api, client_of(api, in_flight=3) as client:
            answers = Answers(api)
            answers.gate.clear()
            requests = [asyncio.create_task(client.get(WEBAPP, "shop", "web")) for _ in range(10)]
            await until(lambda: answers.under_way == 3)
            answers.gate.set()
            await asyncio.gather(*requests)
            assert (answers.count, answers.most) == (10, 3)

    asyncio.run(body())


def test_a_delayed_request_occupies_no_slot() -> None:
    """K17: queued reads release their slots when a pause begins, so writes continue."""

    async def body() -> None:
        throttle = Throttle(in_flight=2, chance=lambda: 0.0)
        gate, started = asyncio.Event(), []

        async def read(number: int) -> None:
            async with throttle.turn(writing=False):
                started.append(number)
                await gate.wait()

        reads = [asyncio.create_task(read(number)) for number in range(6)]
        await until(lambda: len(started) == 2)
        throttle.refused(Refused(429, {}, retry_after="30"), writing=False)
        gate.set()
        async with asyncio.timeout(5):
            for _ in range(4):
                async with throttle.turn(writing=True):
                    pass
        assert started == [0, 1]
        throttle.end()
        for outcome in (await asyncio.gather(*reads, return_exceptions=True))[2:]:
            assert isinstance(outcome, ShuttingDown)

    asyncio.run(body())


def test_after_a_pause_requests_start_spread_and_within_the_slots() -> None:
    async def body() -> None:
        parts = iter(range(1000))
        throttle = Throttle(in_flight=2, chance=lambda: next(parts) / 20)
        loop = asyncio.get_running_loop()
        begun, starts = loop.time(), []
        under_way = most = 0

        async def read() -> None:
            nonlocal under_way, most
            async with throttle.turn(writing=False):
                starts.append(loop.time() - begun)
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(0)
                under_way -= 1

        throttle.refused(Refused(429, {}, retry_after="0.4"), writing=False)
        await asyncio.gather(*(read() for _ in range(20)))
        assert len(starts) == 20
        assert min(starts) >= 0.4
        assert max(starts) - min(starts) >= 0.05, "the starts are spread over a quarter of the pause"
        assert most <= 2

    # Use virtual time: on a busy machine all would wake at once.
    run(VirtualLoop(Chance("1"), defer=0.0), body())


def test_a_shutdown_finishes_in_flight_requests_and_sends_no_other() -> None:
    async def body() -> None:
        async with serving() as api, client_of(api, in_flight=1) as client:
            answers = Answers(api)
            answers.refuse = [refusal(429, "5")]
            with pytest.raises(Refused):
                await client.get(WEBAPP, "shop", "web")
            answers.gate.clear()
            under_way = asyncio.create_task(client.apply(SERVICE, MANIFEST, field_manager="x", force=True))
            await until(lambda: answers.under_way)
            in_line = asyncio.create_task(client.apply(SERVICE, MANIFEST, field_manager="x", force=True))
            in_a_pause = asyncio.create_task(client.get(WEBAPP, "shop", "web"))
            client.end()
            answers.gate.set()
            assert await under_way
            for task in (in_line, in_a_pause):
                with pytest.raises(ShuttingDown):
                    await task
            with pytest.raises(ShuttingDown):
                await client.get(WEBAPP, "shop", "web")
            assert answers.count == 2

    asyncio.run(body())


def test_after_a_401_the_token_is_reread_at_once(tmp_path: Path) -> None:
    async def body() -> None:
        async with serving() as api:
            api.token = "second"
            (tmp_path / "token").write_text("first")
            kubeconfig = written_kubeconfig(tmp_path, api.host)
            made = await connection(kubeconfig, None, token_interval=3600)
            client = Client(HttpTransport(made), Throttle(in_flight=1), timeout=10, page_size=2)
            with pytest.raises(Refused) as refused:
                await client.missing(KINDS.watched)
            assert (refused.value.status, refused.value.error_class) == (401, ErrorClass.TRANSIENT)
            (tmp_path / "token").write_text("second")
            assert await client.missing(KINDS.watched) == []
            await client.close()

    asyncio.run(body())


def test_the_token_file_is_reread_and_an_unreadable_one_is_ignored(tmp_path: Path) -> None:
    """For a kubeconfig, the library alone would read the token file only once."""

    async def body() -> None:
        token = tmp_path / "token"
        token.write_text("first\n")
        made = await connection(written_kubeconfig(tmp_path, "http://127.0.0.1:1"), None, token_interval=0)
        assert await made.authorization() == "Bearer first"
        token.write_text("second")
        assert await made.authorization() == "Bearer second"
        token.write_text("")
        assert await made.authorization() == "Bearer second"
        token.unlink()
        assert await made.authorization() == "Bearer second"
        token.write_text("third\n")
        assert await made.authorization() == "Bearer third"

    asyncio.run(body())


def test_the_token_of_a_pod_is_reread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        token, trust = tmp_path / "token", tmp_path / "ca.crt"
        token.write_text("first")
        trust.write_bytes(create_authority(tmp_path, "authority").certificate_file.read_bytes())
        module = "kubernetes.aio.config.incluster_config"
        monkeypatch.setattr(f"{module}.SERVICE_TOKEN_FILENAME", str(token))
        monkeypatch.setattr(f"{module}.SERVICE_CERT_FILENAME", str(trust))
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
        made = await connection(None, None, token_interval=0)
        assert (made.host, await made.authorization()) == ("https://10.0.0.1:443", "bearer first")
        token.write_text("second\n")
        assert await made.authorization() == "bearer second"
        token.write_text("")
        assert await made.authorization() == "bearer second"

    asyncio.run(body())


def test_the_token_is_not_reread_before_its_interval(tmp_path: Path) -> None:
    async def body() -> None:
        (tmp_path / "token").write_text("first")
        made = await connection(written_kubeconfig(tmp_path, "http://127.0.0.1:1"), None, token_interval=3600)
        (tmp_path / "token").write_text("second")
        assert await made.authorization() == "Bearer first"

    asyncio.run(body())
