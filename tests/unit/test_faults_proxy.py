"""The fault-injecting proxy between a client and a stand-in for the API server, over TLS."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from fault_engine.plan import Answer, Delay, Drop, Kill, Match, Plan, Rule
from fault_engine.proxy import FaultProxy
from fault_engine.proxy_stand_in import StandIn
from fault_engine.proxy_trial import BROKEN, PODS, WATCH, Client, Trial, always, wait_for


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


def test_request_and_answer_pass_unchanged(server: StandIn, proxy: FaultProxy, client: Client) -> None:
    server.answer = (409, b'{"reason":  "Conflict"}')
    target = f"{PODS}/a%20b?dryRun=All&labelSelector=a%3Db,c+d"
    response = client.ask("PATCH", target, b'{"kind":  "Pod"}')
    assert (response.status, response.headers["Warning"], response.read()) == (
        409,
        "299 - a",
        b'{"reason":  "Conflict"}',
    )
    assert server.asked == [("PATCH", target, "Bearer s3cret", b'{"kind":  "Pod"}')]
    (record,) = proxy.snapshot().requests
    assert (record.verb, record.resource, record.namespace, record.name) == ("patch", "pods", "shop", "a b")
    assert (record.query, record.agent) == ({"dryRun": "All", "labelSelector": "a=b,c d"}, "kopf/1")
    assert (record.body, record.answer, record.server_answer) == ({"kind": "Pod"}, {"reason": "Conflict"}, None)
    assert (record.forwarded, record.status, record.server_status, record.fault) == (True, 409, 409, "")


def test_large_bodies_and_long_lines_pass(server: StandIn, client: Client) -> None:
    server.answer = (200, json.dumps("x" * 3_000_000).encode())
    assert client.ask("POST", PODS, server.answer[1]).read() == server.answer[1]
    assert server.asked[0][3] == server.answer[1]
    server.answer = (200, b"")
    response = client.ask("GET", WATCH)
    server.watching.acquire(timeout=10)
    server.send("y" * 1_000_000 + "\n")
    assert len(response.readline(2_000_000)) == 1_000_001


def test_unreachable_server_is_a_closed_connection(server: StandIn, proxy: FaultProxy, client: Client) -> None:
    server.stop()
    with pytest.raises(BROKEN):
        client.ask("GET", PODS)
    record = proxy.snapshot().request(1)
    assert (record.forwarded, record.status, record.delivered) == (False, None, False)


def test_answer_instead_of_the_server(server: StandIn, proxy: FaultProxy, client: Client) -> None:
    proxy.set(Plan((Rule(Match(), Answer(429, retry_after=5)),)))
    response = client.ask("POST", PODS)
    status = json.loads(response.read())
    assert (response.status, response.headers["Retry-After"]) == (429, "5")
    assert (status["kind"], status["status"], status["code"], status["reason"]) == (
        "Status",
        "Failure",
        429,
        "TooManyRequests",
    )
    assert (server.asked, proxy.snapshot().request(1).forwarded) == ([], False)
    assert client.ask("POST", PODS).status == 200


def test_answer_replaced_after_the_server_has_done_it(server: StandIn, proxy: FaultProxy, client: Client) -> None:
    proxy.set(always(Answer(504, body={"a": 1}, instead=False)))
    response = client.ask("POST", PODS, b"{}")
    assert (response.status, json.loads(response.read())) == (504, {"a": 1})
    record = proxy.snapshot().request(1)
    assert len(server.asked) == 1
    assert (record.status, record.server_status) == (504, 200)
    assert (record.answer, record.server_answer) == ({"a": 1}, {"kind": "Anything"})
    assert record.fault == "Answer(status=504, body={'a': 1}, instead=False)"


@pytest.mark.parametrize("answered", [False, True])
def test_drop(server: StandIn, proxy: FaultProxy, client: Client, answered: bool) -> None:
    proxy.set(always(Drop(answered)))
    with pytest.raises(BROKEN):
        client.ask("POST", PODS)
    record = proxy.snapshot().request(1)
    assert len(server.asked) == int(answered)
    assert (record.forwarded, record.server_status, record.status) == (answered, 200 if answered else None, None)
    assert record.server_answer == ({"kind": "Anything"} if answered else None)


@pytest.mark.parametrize(
    ("kill", "asked"), [(Kill(), True), (Kill(answered=True), True), (Kill(forwarded=False), False)]
)
def test_kill(server: StandIn, proxy: FaultProxy, client: Client, kill: Kill, asked: bool) -> None:
    seen: list[int | None] = []

    def on_kill() -> None:
        seen.append(len(server.asked))
        client.connection.close()  # a dead client leaves a closed connection

    proxy.on_kill = on_kill
    proxy.set(always(kill))
    with pytest.raises((*BROKEN, OSError, AttributeError)):
        client.ask("POST", PODS).read()
    wait_for(lambda: proxy.snapshot().request(1).ended and proxy.snapshot().request(1).server_status in (None, 200))
    wait_for(lambda: len(server.asked) == int(asked))
    assert len(seen) == 1
    assert seen[0] == 1 or not kill.answered
    wait_for(lambda: proxy.snapshot().request(1).server_status == (200 if asked else None))
    assert proxy.snapshot().request(1).status is None


def test_plan_that_kills_needs_a_way_to_kill(proxy: FaultProxy) -> None:
    with pytest.raises(ValueError, match="on_kill"):
        proxy.set(always(Kill()))


@pytest.mark.parametrize("answered", [False, True])
def test_delay_lasts_until_lifted(server: StandIn, proxy: FaultProxy, client: Client, answered: bool) -> None:
    proxy.set(always(Delay(3600, answered)))
    answers: list[int] = []
    asking = threading.Thread(target=lambda: answers.append(client.ask("GET", PODS).status))
    asking.start()
    wait_for(lambda: server.asked if answered else proxy.snapshot().requests)
    assert (len(server.asked), answers) == (int(answered), [])
    proxy.lift()
    asking.join(10)
    assert (len(server.asked), answers) == (1, [200])


def test_delay_goes_on_by_itself(proxy: FaultProxy, client: Client) -> None:
    proxy.set(always(Delay(0.05)))
    assert client.ask("GET", PODS).status == 200
    record = proxy.snapshot().request(1)
    wait_for(lambda: record.ended)
    assert (record.ended or 0.0) - record.at >= 0.05


def test_counters_begin_anew_with_each_plan(proxy: FaultProxy, client: Client) -> None:
    plan = Plan((Rule(Match(verb="create", first=2), Answer(500)),))
    for _ in range(2):
        proxy.set(plan)
        statuses = []
        for _ in range(3):
            response = client.ask("POST", PODS)
            response.read()
            statuses.append(response.status)
        assert statuses == [200, 500, 200]


def test_history_can_be_read_and_has_no_tokens(proxy: FaultProxy, client: Client, tmp_path: Path) -> None:
    proxy.mark("begin")
    early = proxy.snapshot()
    client.ask("POST", PODS, b'{"a": "\xc3\xa4"}').read()
    proxy.snapshot().write(tmp_path / "history.jsonl")
    text = (tmp_path / "history.jsonl").read_text()
    mark, request = [json.loads(line) for line in text.splitlines()]
    assert (mark["entry"], mark["what"], mark["seconds"]) == ("Mark", "begin", 0)
    assert (request["entry"], request["body"], request["status"]) == ("Request", {"a": "ä"}, 200)
    assert "s3cret" not in text
    assert early.requests == []


def test_kubeconfig_leads_to_the_proxy(proxy: FaultProxy, tmp_path: Path) -> None:
    before = {
        "clusters": [{"name": "c", "cluster": {"server": "https://a", "certificate-authority": "/b"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    (tmp_path / "in").write_text(yaml.safe_dump(before))
    proxy.write_kubeconfig(tmp_path / "in", tmp_path / "out")
    after = yaml.safe_load((tmp_path / "out").read_text())
    assert after["clusters"][0]["cluster"]["server"] == proxy.url
    assert set(after["clusters"][0]["cluster"]) == {"server", "certificate-authority-data"}
    assert after["users"] == before["users"]


def test_failure_of_the_proxy_itself_fails_the_test(server: StandIn, tmp_path: Path) -> None:
    def on_kill() -> None:
        raise ZeroDivisionError

    def failing() -> None:
        with FaultProxy(server.url, server.ca_file, tmp_path / "failing") as proxy:
            proxy.on_kill = on_kill
            proxy.set(always(Kill()))
            connection = Client(proxy).connection
            connection.request("GET", PODS)
            assert connection.getresponse().status == 500
            connection.close()

    with pytest.raises(RuntimeError, match="itself failed"):
        failing()
