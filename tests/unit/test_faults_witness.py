"""The witness sees every version of every object, despite any fault of an API server."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from fault_engine.witness import Change, Witness, list_all
from faults.workloads.webapp import WEBAPP

RESOURCES = WEBAPP.resources


class Server:
    """An API server with the objects of one namespace, reduced to the needs of a witness."""

    ca_file = None
    token = "token"

    def __init__(self) -> None:
        self.version = 10
        self.compacted = 0
        self.gone_in_stream = False
        self.refuses = False
        self.cut = 0
        self.silent = False
        self.unserved: set[str] = set()
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}
        self.events: list[tuple[int, str, dict[str, Any]]] = []
        self.news = threading.Condition()
        self._http = _Listener(("127.0.0.1", 0), type("Bound", (_Handler,), {"fake": self}))
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def store(self, kind: str, name: str, resource: str = "configmaps", uid: str = "") -> int:
        """Store an object, or remove it with DELETED. Return the version."""
        with self.news:
            self.version += 1
            metadata = {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(self.version)}
            thing = {"metadata": metadata}
            self.objects[resource, name] = thing
            if kind == "DELETED":
                del self.objects[resource, name]
            self.events.append((self.version, resource, {"type": kind, "object": thing}))
            self.news.notify_all()
            return self.version

    def break_off(self) -> None:
        """Break off all watches."""
        with self.news:
            self.cut += 1
            self.news.notify_all()

    def close(self) -> None:
        self.break_off()
        self._http.shutdown()
        self._http.server_close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64  # with the default of 5, simultaneous connections wait for a second


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a response is two small packets, and the second would wait 40 ms
    fake: Server

    def do_GET(self) -> None:
        cut = self.fake.cut  # before the request is judged, so that no watch outlives a later break_off
        parts = urlsplit(self.path)
        resource = parts.path.rpartition("/")[2]
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if self.fake.refuses:
            self._answer(503, {"message": "not now"})
        elif resource in self.fake.unserved:
            self._answer_text(404, b"404 page not found\n")  # as the API server does without the API group
        elif "watch" not in query:
            with self.fake.news:
                items = [thing for (kind, _), thing in self.fake.objects.items() if kind == resource]
                self._answer(200, {"metadata": {"resourceVersion": str(self.fake.version)}, "items": items})
        elif int(query["resourceVersion"]) >= self.fake.compacted:
            self._watch(resource, int(query["resourceVersion"]), cut)
        elif self.fake.gone_in_stream:
            self._begin_stream()
            self._send({"type": "ERROR", "object": {"code": 410, "message": "too old"}})
            self._end_stream()
        else:
            self._answer(410, {"message": "too old"})

    def _watch(self, resource: str, version: int, cut: int) -> None:
        self._begin_stream()
        self._send({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version)}}})
        while True:
            with self.fake.news:
                while self.fake.cut == cut and not self._later(resource, version):
                    self.fake.news.wait()
                if self.fake.cut != cut:
                    break
                version, _, event = self._later(resource, version)[0]
            self._send(event)
        self._end_stream()

    def _later(self, resource: str, version: int) -> list[tuple[int, str, dict[str, Any]]]:
        if self.fake.silent:
            return []
        return [event for event in self.fake.events if event[0] > version and event[1] == resource]

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _send(self, event: dict[str, Any]) -> None:
        line = json.dumps(event).encode() + b"\n"
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")

    def _end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        self._answer_text(status, json.dumps(body).encode())

    def _answer_text(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as http.server names it
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def witness(server: Server) -> Iterator[Witness]:
    server.store("ADDED", "before")
    with Witness(server, "shop", RESOURCES) as witness:
        witness.caught_up(5)
        yield witness


def _short(changes: list[Change]) -> list[str]:
    return [f"{change.type} {change.name}{' late' if change.late else ''}" for change in changes]


def test_every_version_is_recorded(server: Server, witness: Witness) -> None:
    for kind in ("ADDED", "MODIFIED", "MODIFIED", "DELETED"):
        server.store(kind, "web")
    server.store("ADDED", "web", "services", uid="other")
    witness.caught_up(5)
    found = [change for change in witness.changes() if change.resource == "configmaps"]
    assert _short(found) == ["ADDED before", "ADDED web", "MODIFIED web", "MODIFIED web", "DELETED web"]
    assert [change.version for change in found] == [11, 12, 13, 14, 15]
    (service,) = (change for change in witness.changes() if change.resource == "services")
    assert (service.uid, service.object["metadata"]["name"]) == ("other", "web")
    assert [change.at for change in found] == sorted(change.at for change in found)


def test_a_watch_that_breaks_off_goes_on_where_it_was(server: Server, witness: Witness) -> None:
    server.refuses = True
    server.break_off()
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        server.store(kind, "web")
    server.refuses = False
    with witness.changed:  # a LIST cannot show an object that was added and deleted unseen
        assert witness.changed.wait_for(lambda: len(witness.changes()) >= 4, 5)
    assert _short(witness.changes()) == ["ADDED before", "ADDED web", "MODIFIED web", "DELETED web"]


@pytest.mark.parametrize("gone_in_stream", [True, False])
def test_after_a_gap_what_vanished_is_deleted(server: Server, witness: Witness, gone_in_stream: bool) -> None:
    server.store("ADDED", "namesake")
    server.store("ADDED", "kept")
    witness.caught_up(5)
    server.refuses, server.gone_in_stream = True, gone_in_stream
    server.break_off()
    server.store("DELETED", "before")
    server.store("ADDED", "after")
    server.store("DELETED", "namesake")
    server.store("ADDED", "namesake", uid="another")
    server.compacted = server.version
    server.refuses = False
    witness.caught_up(5)
    assert sorted(_short(witness.changes()[3:])) == [
        "ADDED after late",
        "ADDED namesake late",
        "DELETED before late",
        "DELETED namesake late",
    ]


@pytest.mark.parametrize(("kind", "name"), [("ADDED", "web"), ("MODIFIED", "before"), ("DELETED", "before")])
def test_it_is_not_caught_up_before_it_has_seen_all(server: Server, witness: Witness, kind: str, name: str) -> None:
    server.silent = True
    server.store(kind, name)
    with pytest.raises(TimeoutError, match="the witness has not seen all configmaps in shop"):
        witness.caught_up(0.2)
    server.silent = False
    with server.news:
        server.news.notify_all()
    witness.caught_up(5)
    assert _short(witness.changes()) == ["ADDED before", f"{kind} {name}"]


def test_a_server_that_does_not_list_is_named(server: Server, witness: Witness) -> None:
    server.refuses = True
    with pytest.raises(TimeoutError, match=r"LIST of webapps keeps failing: .* 503: not now"):
        witness.caught_up(0.2)


def test_a_resource_that_is_not_served_has_no_objects_until_it_is(server: Server) -> None:
    server.unserved = {"httproutes"}
    with Witness(server, "shop", RESOURCES) as witness:
        witness.caught_up(5)
        assert list_all(server, "shop", RESOURCES)["httproutes"] == []
        server.unserved = set()
        server.store("ADDED", "web", "httproutes")
        witness.caught_up(5)
        server.unserved = {"httproutes"}
        server.break_off()
        witness.caught_up(5)
        assert witness.latest("httproutes", "web") is None
        assert _short(witness.changes()) == ["ADDED web late", "DELETED web late"]
        server.unserved = set()
        server.store("MODIFIED", "web", "httproutes")
        witness.caught_up(5)
        assert _short(witness.changes()[2:]) == ["ADDED web late"]


def test_an_older_history(server: Server, witness: Witness) -> None:
    server.store("ADDED", "lost")
    witness.caught_up(5)
    with server.news:
        server.version = 11
        server.objects.pop(("configmaps", "lost"))
        server.events.clear()
    witness.restart()
    witness.caught_up(5)
    server.store("MODIFIED", "before")
    witness.caught_up(5)
    assert _short(witness.changes()) == ["ADDED before", "ADDED lost", "DELETED lost late", "MODIFIED before"]


def test_after_the_end_nothing_is_recorded_and_no_thread_is_left(server: Server) -> None:
    with Witness(server, "shop", RESOURCES) as witness:
        witness.caught_up(5)
    server.store("ADDED", "late")
    assert witness.changes() == []
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("witness")] == []


def test_the_end_is_all_that_is_there(server: Server) -> None:
    server.store("ADDED", "web", "deployments")
    end = list_all(server, "shop", RESOURCES)
    assert set(end) == set(RESOURCES)
    assert [thing["metadata"]["name"] for thing in end["deployments"]] == ["web"]
    assert end["pods"] == []
