"""The election in its thread, over HTTP: a blocked main loop, the role, the release, and a hung thread."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from prometheus_client import REGISTRY

from coxswain.kernel.api.connection import plain
from coxswain.kernel.api.errors import Refused
from coxswain.kernel.api.transport import HttpTransport
from coxswain.kernel.election.election import LeaseElection
from coxswain.kernel.election.elector import LeadershipLost
from coxswain.kernel.election.leadership import monotonic
from coxswain.settings import ElectionSettings
from unit.fake_api import until
from unit.leases import LeaseServer

pytestmark = pytest.mark.thorough

FAST = ElectionSettings(lease_duration=1.0, renew_deadline=0.8, retry_period=0.1, request_timeout=0.4)
METRIC = "leader_election_master_status"


class Http:
    """The Lease server over HTTP, in a thread of its own."""

    def __init__(self) -> None:
        self.leases = LeaseServer()
        self.refuses = 0
        self.agents: set[str] = set()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    async def connect(self) -> HttpTransport:
        return HttpTransport(plain(f"http://127.0.0.1:{self._server.server_port}"))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:  # noqa: ARG002
        with self._lock:
            if self.refuses:
                return self.refuses, {"reason": "Refused", "message": "no"}
            try:
                return 200, self.leases.execute(method, body)
            except Refused as refused:
                return refused.status, {"reason": refused.reason}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        http = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                http.agents.add(self.headers["User-Agent"])
                status, answer = http.answer(self.command, self.path, body)
                payload = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_POST = do_PUT = _answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@pytest.fixture
def http() -> Iterator[Http]:
    server = Http()
    yield server
    server.close()


def candidate(http: Http, settings: ElectionSettings = FAST) -> LeaseElection:
    return LeaseElection(http.connect, "ns", "coxswain", settings)


def held(http: Http) -> str:
    return str((http.leases.stored or {}).get("spec", {}).get("holderIdentity"))


def test_the_role_from_the_start_to_the_release(http: Http) -> None:
    async def body() -> None:
        async with candidate(http) as leader:
            assert leader.role() == ["standby: nobody leads yet"]
            assert "cannot be read or acquired: no answer yet" in leader.obstacles()[0]
            await leader.acquired()
            assert leader.leading
            assert leader.leads("any")
            assert leader.role() == [f"leader: {held(http)}"]
            assert REGISTRY.get_sample_value(METRIC, {"name": "coxswain"}) == 1
            async with candidate(http) as standby:
                await until(lambda: not standby.obstacles())
                assert standby.role() == [f"standby: {held(http)} leads"]
                assert not standby.leading
                assert not standby.leads("any")
                assert standby.dead() == leader.dead() == []
            assert leader.leading, "the end of a standby releases nothing"
        assert held(http) == ""
        assert not leader.leads("any")
        assert REGISTRY.get_sample_value(METRIC, {"name": "coxswain"}) == 0

    asyncio.run(body())
    assert http.agents == {"coxswain"}


def test_a_blocked_main_loop_does_not_lose_the_lease(http: Http) -> None:
    async def body() -> None:
        async with candidate(http) as leader:
            await leader.acquired()
            before = http.leases.stored
            time.sleep(3 * FAST.lease_duration)  # noqa: ASYNC251 - blocks the loop on purpose
            assert leader.leads("any")
            assert http.leases.stored != before
            await asyncio.sleep(0.1)
            assert leader.leading

    asyncio.run(body())


def test_a_blocked_main_loop_does_not_write_after_the_loss(http: Http) -> None:
    async def body() -> None:
        async with candidate(http) as leader:
            await leader.acquired()
            http.refuses = 500
            time.sleep(2 * FAST.lease_duration)  # noqa: ASYNC251 - blocks the loop on purpose
            assert not leader.leads("any"), "although this loop has not heard of the loss"
            assert leader.leading
            with pytest.raises(LeadershipLost, match=r"not renewed for 0.8 s \("):
                await leader.ended()
            assert not leader.leading

    asyncio.run(body())


def test_a_standby_that_is_refused_says_so_until_it_is_allowed(http: Http) -> None:
    async def body() -> None:
        http.refuses = 403
        async with candidate(http) as standby:
            await until(lambda: "403" in str(standby.obstacles()))
            http.refuses = 0
            await until(lambda: not standby.obstacles())

    asyncio.run(body())


def test_a_hung_thread_is_dead(http: Http) -> None:
    later = 0.0

    async def body() -> None:
        nonlocal later
        async with LeaseElection(http.connect, "ns", "coxswain", FAST, clock=lambda: monotonic() + later) as leader:
            await leader.acquired()
            assert leader.dead() == []
            later = 31.0
            [message] = leader.dead()
            assert message.startswith("leader election: hung for 3")

    asyncio.run(body())


def test_the_end_does_not_wait_for_a_server_that_hangs(http: Http) -> None:
    async def body() -> None:
        async with candidate(http, replace(FAST, renew_deadline=30.0, lease_duration=45.0)) as leader:
            await until(lambda: not leader.obstacles())
            with http._lock:
                begin = time.monotonic()
                leader._thread._stop.set()
                await leader.ended()
        assert time.monotonic() - begin < 1

    asyncio.run(body())
