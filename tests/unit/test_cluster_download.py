"""Downloads of the throwaway cluster's programs: checksums first, and no waiting without a network."""

import hashlib
import io
import socket
import tarfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cluster.catalog import ETCD, KUBERNETES, PROGRAMS, go_platform
from cluster.download import Downloads, checksum_of, within
from cluster.progress import silent

CONTENT = b"#!/bin/sh\necho kubectl\n"


class Server(ThreadingHTTPServer):
    """An HTTP server of the files in `files`, by path."""

    daemon_threads = True

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        content = self.server.files.get(self.path)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as one:
        threading.Thread(target=one.serve_forever, args=(0.01,), daemon=True).start()
        yield one
        one.shutdown()


def kubectl_path() -> str:
    return "/".join(("", str(KUBERNETES.version), "bin", *go_platform(), "kubectl"))


def fetch(server: Server, name: str, directory: Path) -> tuple[bool, str]:
    downloads = Downloads(silent, server.url, server.url)
    done = downloads.fetch(PROGRAMS[name], directory)
    return done, "\n".join(downloads.failures_of(list(PROGRAMS.values())))


def test_a_program_with_the_right_checksum_is_installed(server: Server, tmp_path: Path) -> None:
    server.files[kubectl_path()] = CONTENT
    server.files[kubectl_path() + ".sha256"] = hashlib.sha256(CONTENT).hexdigest().encode() + b"\n"
    assert fetch(server, "kubectl", tmp_path) == (True, "")
    assert (tmp_path / "kubectl").read_bytes() == CONTENT
    assert (tmp_path / "kubectl").stat().st_mode & 0o111
    assert [entry.name for entry in tmp_path.iterdir()] == ["kubectl"]


@pytest.mark.parametrize("checksum", [b"", b"0" * 64, b"<html>not found</html>"])
def test_a_wrong_checksum_is_refused_and_nothing_is_left(server: Server, tmp_path: Path, checksum: bytes) -> None:
    server.files[kubectl_path()] = CONTENT
    server.files[kubectl_path() + ".sha256"] = checksum
    done, why = fetch(server, "kubectl", tmp_path)
    assert not done
    assert "refused" in why
    assert list(tmp_path.iterdir()) == []


def test_a_program_without_a_checksum_is_refused(server: Server, tmp_path: Path) -> None:
    server.files[kubectl_path()] = CONTENT
    done, why = fetch(server, "kubectl", tmp_path)
    assert not done
    assert "404" in why
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damaged", [False, True])
def test_etcd_comes_out_of_its_verified_archive(server: Server, tmp_path: Path, damaged: bool) -> None:
    name = "-".join(("etcd", str(ETCD.version), *go_platform()))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo(f"{name}/etcd")
        member.size = len(CONTENT)
        archive.addfile(member, io.BytesIO(CONTENT))
    data = buffer.getvalue()
    folder = f"/{ETCD.version}"
    server.files[f"{folder}/SHA256SUMS"] = f"{hashlib.sha256(data).hexdigest()}  {name}.tar.gz\n".encode()
    server.files[f"{folder}/{name}.tar.gz"] = data + b"more" * damaged
    done, _why = fetch(server, "etcd", tmp_path)
    assert done is not damaged
    assert (tmp_path / "etcd").exists() is not damaged


def test_kwok_is_never_downloaded(server: Server, tmp_path: Path) -> None:
    done, why = fetch(server, "kwok", tmp_path)
    assert not done
    assert "not downloaded" in why


def test_a_host_that_does_not_answer_costs_one_wait(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        told: list[str] = []
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        downloads = Downloads(told.append, url, url, connect_timeout_seconds=0.3)
        started = time.monotonic()
        for name in ("kube-apiserver", "kube-scheduler", "kubectl", "etcd"):
            assert not downloads.fetch(PROGRAMS[name], tmp_path)
        assert time.monotonic() - started < 2
    assert "no answer within" in told[0]
    assert all("was unreachable before" in line for line in told[1:])


def test_an_answer_that_is_not_http_is_told_as_such(tmp_path: Path) -> None:
    """It counted as no answer, after the whole wait."""
    with socket.create_server(("127.0.0.1", 0)) as odd:

        def answer() -> None:
            connection, _ = odd.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"SSH-2.0-x\r\n")

        threading.Thread(target=answer, daemon=True).start()
        url = f"http://127.0.0.1:{odd.getsockname()[1]}"
        told: list[str] = []
        assert not Downloads(told.append, url, url, connect_timeout_seconds=5).fetch(PROGRAMS["kubectl"], tmp_path)
    assert "the answer is not HTTP: BadStatusLine('SSH-2.0-x" in told[0]


def test_a_name_that_takes_long_to_look_up_is_given_up() -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        within(0.1, lambda: time.sleep(2))
    assert time.monotonic() - started < 1


def test_a_listing_names_files_in_text_and_binary_mode() -> None:
    listing = "aa  one.tar.gz\nbb *two.tar.gz\n"
    assert checksum_of(listing, "two.tar.gz") == "bb"
    with pytest.raises(KeyError):
        checksum_of(listing, "three.tar.gz")
