"""The bytes of a watch: chunks over HTTP/1.1, frames over HTTP/2, one JSON object on each line.

The bytes are read from a TLS socket, because an HTTP library decodes the chunks.
"""

import json
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO
from urllib.parse import urlsplit

import httpx
import pytest

from cluster import ControlPlane
from integration.collection import Collection

pytestmark = pytest.mark.semantics

_SIZE = re.compile(rb"[0-9a-f]+")


@contextmanager
def _connection(cluster: ControlPlane) -> Iterator[tuple[ssl.SSLSocket, BinaryIO]]:
    """Connect to the API server over HTTP/1.1."""
    parts = urlsplit(cluster.url)
    assert parts.hostname is not None
    context = ssl.create_default_context(cafile=str(cluster.ca_file))
    context.set_alpn_protocols(["http/1.1"])
    with (
        socket.create_connection((parts.hostname, parts.port or 443), timeout=15) as plain,
        context.wrap_socket(plain, server_hostname=parts.hostname) as secure,
        secure.makefile("rb") as reader,
    ):
        yield secure, reader


def _ask(cluster: ControlPlane, wire: ssl.SSLSocket, url: str) -> None:
    parts = urlsplit(url)
    lines = [
        f"GET {parts.path}?{parts.query} HTTP/1.1",
        f"Host: {parts.netloc}",
        f"Authorization: Bearer {cluster.token}",
        "Accept: application/json",
    ]
    wire.sendall("\r\n".join([*lines, "", ""]).encode())


def _head(reader: BinaryIO) -> tuple[str, dict[str, str]]:
    """Read the status line and the headers."""
    status = reader.readline().decode().rstrip("\r\n")
    headers: dict[str, str] = {}
    while line := reader.readline().decode().rstrip("\r\n"):
        name, _, value = line.partition(": ")
        headers[name.lower()] = value
    return status, headers


def _chunk(reader: BinaryIO) -> bytes:
    """Read one chunk: its size in hexadecimal digits, CRLF, the data, CRLF."""
    size = reader.readline()
    assert size.endswith(b"\r\n"), size
    assert _SIZE.fullmatch(size[:-2]), size
    data = reader.read(int(size, 16))
    assert reader.read(2) == b"\r\n"
    return data


def test_a_watch_is_chunked_with_one_event_on_each_line(cluster: ControlPlane, collection: Collection) -> None:
    version = collection.create("a")
    later = [collection.change("a", "2"), collection.change("a", "3")]
    with _connection(cluster) as (wire, reader):
        _ask(cluster, wire, f"{collection.url}?watch=true&timeoutSeconds=2&resourceVersion={version}")
        status, headers = _head(reader)
        chunks: list[bytes] = []
        while data := _chunk(reader):
            chunks.append(data)
        assert status == "HTTP/1.1 200 OK"
        assert headers["transfer-encoding"] == "chunked"
        assert "content-length" not in headers
        assert headers["content-type"] == "application/json"
        # A chunk is the server's pending data at one moment, and may hold several events. A line is one event.
        assert all(data.endswith(b"\n") for data in chunks)
        events = [json.loads(line) for line in b"".join(chunks).splitlines()]
        assert [event["type"] for event in events] == ["MODIFIED", "MODIFIED"]
        assert [int(event["object"]["metadata"]["resourceVersion"]) for event in events] == later

        # The empty chunk ended the watch, not the connection: the next request reuses the connection.
        _ask(cluster, wire, f"{collection.url}/a?")
        status, headers = _head(reader)
        assert status == "HTTP/1.1 200 OK"
        assert json.loads(reader.read(int(headers["content-length"])))["metadata"]["name"] == "a"


def test_an_event_is_sent_when_it_happens(cluster: ControlPlane, collection: Collection) -> None:
    version = collection.create("a")
    with _connection(cluster) as (wire, reader):
        _ask(cluster, wire, f"{collection.url}?watch=true&timeoutSeconds=30&resourceVersion={version}")
        assert _head(reader)[0] == "HTTP/1.1 200 OK"
        for content in ("2", "3", "4"):
            changed = collection.change("a", content)
            event = json.loads(_chunk(reader))  # the socket has a timeout of 15 s, half of the watch
            assert int(event["object"]["metadata"]["resourceVersion"]) == changed


def test_over_http2_there_is_no_transfer_encoding(cluster: ControlPlane, collection: Collection) -> None:
    """RFC 9113, section 8.2.2: HTTP/2 has its own frames, and forbids the header."""
    version = collection.create("a")
    changed = collection.change("a", "2")
    query = {"watch": "true", "timeoutSeconds": "1", "resourceVersion": str(version)}
    context = ssl.create_default_context(cafile=str(cluster.ca_file))
    headers = {"Authorization": f"Bearer {cluster.token}"}
    with (
        httpx.Client(http1=False, http2=True, verify=context, trust_env=False, timeout=15) as client,
        client.stream("GET", collection.url, params=query, headers=headers) as answer,
    ):
        lines = list(answer.iter_lines())
    assert (answer.http_version, answer.status_code) == ("HTTP/2", 200)
    assert not {"transfer-encoding", "content-length"} & set(answer.headers)
    assert [int(json.loads(line)["object"]["metadata"]["resourceVersion"]) for line in lines] == [changed]
