"""Watches and stale lists through the fault-injecting proxy, with a stand-in for the API server, over TLS."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fault_engine.plan import Action, Answer, Behind, Doubled, Drop, Hide, Match, Plan, Rule, Stream
from fault_engine.proxy import FaultProxy
from fault_engine.proxy_stand_in import StandIn
from fault_engine.proxy_trial import BROKEN, PODS, WATCH, Client, Trial, always, event, wait_for


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    with Trial(tmp_path) as trial:
        yield trial


@pytest.fixture
def server(trial: Trial) -> StandIn:
    return trial.server


@pytest.fixture
def proxy(trial: Trial) -> FaultProxy:
    return trial.proxy


@pytest.fixture
def client(trial: Trial) -> Client:
    return trial.connect()


def test_watch_passes_each_line_at_once(server: StandIn, proxy: FaultProxy, client: Client) -> None:
    response = client.ask("GET", WATCH)  # the headers arrive before any line
    server.watching.acquire(timeout=10)
    for version in (1, 2):
        server.send(event(version))
        assert client.versions(response, 1) == [version]
    server.send("half a li", None)
    assert response.read() == b"half a li"
    history = proxy.snapshot()
    assert [(line.request, line.type, line.fault) for line in history.lines] == [
        (1, "MODIFIED", ""),
        (1, "MODIFIED", ""),
        (1, "", ""),
    ]
    assert (history.request(1).status, history.request(1).answer) == (200, None)


def test_client_that_leaves_ends_the_watch(server: StandIn, proxy: FaultProxy, client: Client) -> None:
    client.ask("GET", WATCH).close()
    client.connection.close()
    assert server.left.wait(10)
    wait_for(lambda: proxy.snapshot().request(1).ended)


def test_server_that_breaks_off_breaks_the_watch(server: StandIn, client: Client) -> None:
    response = client.ask("GET", WATCH)
    server.stop()
    with pytest.raises(BROKEN):
        response.read()


def test_answer_to_a_watch(proxy: FaultProxy, client: Client) -> None:
    proxy.set(always(Answer(410)))
    assert json.loads(client.ask("GET", WATCH).read())["reason"] == "Expired"


def test_frozen_watch_goes_on_when_lifted(server: StandIn, proxy: FaultProxy, client: Client, trial: Trial) -> None:
    proxy.set(Plan((Rule(Match(verb="watch"), Stream(after=1, then="freeze")),)))
    frozen, other = client.ask("GET", WATCH), trial.connect()
    free = other.ask("GET", WATCH)
    for _ in range(2):
        server.watching.acquire(timeout=10)
    server.send(event(1), event(2), event(3), None)
    assert client.versions(frozen, 1) == [1]
    assert other.versions(free, 3) == [1, 2, 3]
    assert free.readline() == b""
    assert [line.fault for line in proxy.snapshot().lines if line.request == 1] == [""]
    proxy.lift()
    assert client.versions(frozen, 2) == [2, 3]
    assert frozen.readline() == b""
    assert [line.fault for line in proxy.snapshot().lines if line.request == 1] == ["", *["held until lifted"] * 2]


def test_next_plan_lifts_the_one_before(server: StandIn, proxy: FaultProxy, client: Client) -> None:
    proxy.set(always(Stream(then="freeze")))
    frozen = client.ask("GET", WATCH)
    server.watching.acquire(timeout=10)
    proxy.set(always(Drop()))
    server.send(event(1))
    assert client.versions(frozen, 1) == [1]


@pytest.mark.parametrize(("then", "half_of_next"), [("close", False), ("truncate", True)])
def test_stream_ends_properly(
    server: StandIn, proxy: FaultProxy, client: Client, then: str, half_of_next: bool
) -> None:
    proxy.set(always(Stream(after=1, inject=("{",), then=then)))
    response = client.ask("GET", WATCH)
    server.watching.acquire(timeout=10)
    server.send(event(1), event(2))
    assert client.versions(response, 1) == [1]
    second = json.dumps(event(2)).encode() + b"\n"
    assert response.read() == b"{" + (second[: len(second) // 2] if half_of_next else b"")
    assert server.left.wait(10)
    assert [line.fault for line in proxy.snapshot().lines] == ["", "injected", *["truncated"] * half_of_next]


def test_stream_is_reset(server: StandIn, proxy: FaultProxy, client: Client) -> None:
    proxy.set(always(Stream(after=1, then="reset")))
    response = client.ask("GET", WATCH)
    server.watching.acquire(timeout=10)
    server.send(event(1))
    assert client.versions(response, 1) == [1]
    with pytest.raises(BROKEN):
        response.read()
    assert proxy.snapshot().request(1).status == 200


@pytest.mark.parametrize(
    ("action", "expected"),
    [(Hide("web"), [2, 3]), (Doubled(), [1, 1, 2, 2, 3, 3]), (Doubled(swapped=True), [2, 1])],
)
def test_events_hidden_doubled_swapped(
    server: StandIn, proxy: FaultProxy, client: Client, action: Action, expected: list[int]
) -> None:
    proxy.set(always(action))
    response = client.ask("GET", WATCH)
    server.watching.acquire(timeout=10)
    server.send(event(1), event(2), event(3))
    assert client.versions(response, len(expected)) == expected
    proxy.lift()
    server.send(event(9))
    assert client.versions(response, 1) == ([3] if expected == [2, 1] else [9])


@pytest.mark.parametrize("action", [Stream(), Stream(then="freeze")])
def test_watches_of_a_resource_are_cut(
    server: StandIn, proxy: FaultProxy, client: Client, trial: Trial, action: Action
) -> None:
    proxy.set(always(action))
    pods, other = client.ask("GET", WATCH), trial.connect()
    secrets = other.ask("GET", "/api/v1/secrets?watch=1")
    for _ in range(2):
        server.watching.acquire(timeout=10)
    proxy.cut("pods")
    with pytest.raises(BROKEN):
        pods.read()
    proxy.lift()
    server.send(event(1))
    assert other.versions(secrets, 1) == [1]


def test_proxy_moves_to_another_server(server: StandIn, proxy: FaultProxy, client: Client) -> None:
    response = client.ask("GET", WATCH)
    proxy.move("https://127.0.0.1:1")
    with pytest.raises(BROKEN):
        response.read()
    proxy.move(server.url)
    client.connection.close()
    assert client.ask("GET", PODS).status == 200


def test_server_behind(server: StandIn, proxy: FaultProxy, client: Client, trial: Trial) -> None:
    proxy.set(always(Behind(7)))
    client.ask("GET", f"{PODS}?resourceVersion=0&limit=5&labelSelector=a%3Db").read()
    client.ask("GET", f"{PODS}?limit=5&continue=x").read()
    client.ask("GET", f"{PODS}/web").read()
    assert [path for _, path, _, _ in server.asked] == [
        f"{PODS}?resourceVersion=7&limit=5&labelSelector=a%3Db&resourceVersionMatch=Exact",
        f"{PODS}?limit=5&continue=x",
        f"{PODS}/web",
    ]
    response = client.ask("GET", f"{WATCH}&resourceVersion=5")
    server.watching.acquire(timeout=10)
    server.send(event(7), event(8), event(9))
    assert client.versions(response, 1) == [7]
    proxy.lift()
    assert client.versions(response, 2) == [8, 9]
    trial.connect().ask("GET", PODS).read()
    assert server.asked[-1][1] == PODS
