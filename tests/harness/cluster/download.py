"""Downloads official releases, only with a checksum, and gives up quickly without a network."""

import hashlib
import http.client
import io
import tarfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import TypeVar

from cluster.catalog import ETCD, KUBERNETES, Program, Wheel, go_platform
from cluster.progress import Heartbeat, Progress
from cluster.wheels import program_of

KUBERNETES_RELEASES = "https://dl.k8s.io"
ETCD_RELEASES = "https://github.com/etcd-io/etcd/releases/download"
# Programs without known published checksums are not downloaded. They are built, with the checksums of go.sum.

CONNECT_TIMEOUT_SECONDS = 3.0
READ_TIMEOUT_SECONDS = 20.0
CHUNK_BYTES = 1 << 20

Result = TypeVar("Result")


class Downloads:
    """Downloads of one run. After the first failed connection to a host, it is not tried again."""

    def __init__(
        self,
        progress: Progress,
        kubernetes_releases: str = KUBERNETES_RELEASES,
        etcd_releases: str = ETCD_RELEASES,
        connect_timeout_seconds: float = CONNECT_TIMEOUT_SECONDS,
    ) -> None:
        self.progress = progress
        self._failures: dict[str, str] = {}
        self._kubernetes_releases = kubernetes_releases
        self._etcd_releases = etcd_releases
        self._connect_timeout_seconds = connect_timeout_seconds
        self._unreachable: set[str] = set()

    def fetch(self, program: Program, directory: Path) -> bool:
        """Download the program into `directory`; return False on failure, with the reason in `failures_of`."""
        if program.module == KUBERNETES:
            return self._attempt(program, directory, self._kubernetes_program)
        if program.module == ETCD:
            return self._attempt(program, directory, self._etcd_program)
        if isinstance(program.module, Wheel):
            self.progress(f"downloading {program.name} {program.module.version} with pip")
            return self._attempt(program, directory, program_of)
        self._failures[program.name] = f"{program.name}: not downloaded: no published checksums are known"
        return False

    def failures_of(self, programs: Sequence[Program]) -> list[str]:
        """Return the reason for each failed download of these programs, one line each."""
        return [self._failures[program.name] for program in programs if program.name in self._failures]

    def _attempt(self, program: Program, directory: Path, get: Callable[[Program], bytes]) -> bool:
        try:
            data = get(program)
        except (OSError, http.client.HTTPException, ValueError, KeyError, tarfile.TarError) as error:
            self._failures[program.name] = f"{program.name}: not downloaded: {error}"
            self.progress(self._failures[program.name])
            return False
        install(data, directory / program.name)
        return True

    def _kubernetes_program(self, program: Program) -> bytes:
        url = "/".join((self._kubernetes_releases, str(program.module.version), "bin", *go_platform(), program.name))
        expected = self._get(f"{url}.sha256").decode().strip()
        return verified(self._get(url), expected, url)

    def _etcd_program(self, program: Program) -> bytes:
        name = "-".join(("etcd", str(program.module.version), *go_platform()))
        folder = f"{self._etcd_releases}/{program.module.version}"
        archive = f"{name}.tar.gz"
        expected = checksum_of(self._get(f"{folder}/SHA256SUMS").decode(), archive)
        data = verified(self._get(f"{folder}/{archive}"), expected, archive)
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as files:
            member = files.extractfile(f"{name}/{program.name}")
            if member is None:
                raise ValueError(f"{archive} has no program {program.name}")
            return member.read()

    def _get(self, url: str) -> bytes:
        host = urllib.parse.urlsplit(url).netloc
        if host in self._unreachable:
            raise OSError(f"{host} was unreachable before")
        try:
            response = within(
                self._connect_timeout_seconds, lambda: urllib.request.urlopen(url, timeout=READ_TIMEOUT_SECONDS)
            )
        except urllib.error.HTTPError as error:
            raise OSError(f"{url}: {error.code} {error.reason}") from error
        except http.client.HTTPException as error:
            raise OSError(f"{url}: the answer is not HTTP: {error!r}") from error
        except OSError as error:
            self._unreachable.add(host)
            raise OSError(f"{host}: {getattr(error, 'reason', error)}") from error
        with response:
            return self._read(response, url)

    def _read(self, response: http.client.HTTPResponse, url: str) -> bytes:
        total = int(response.headers.get("Content-Length") or 0)
        data = bytearray()
        with Heartbeat.on_terminal(self.progress) as heartbeat:
            while chunk := response.read(CHUNK_BYTES):
                data += chunk
                heartbeat.beat(f"{url}: {len(data) >> 20} of {total >> 20} MiB")
        if total and len(data) != total:
            raise ValueError(f"{url}: received {len(data)} of {total} bytes")
        return bytes(data)


def within(seconds: float, call: Callable[[], Result]) -> Result:
    """Return the result of `call`, or raise TimeoutError. Unlike a socket's timeout, it includes the DNS lookup."""
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        # The caller of `within` gets any error.
        except Exception as error:  # noqa: BLE001
            outcome.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        return outcome.result(seconds)
    except TimeoutError:
        raise TimeoutError(f"no answer within {seconds} s") from None


def checksum_of(listing: str, name: str) -> str:
    """Return the checksum of `name` in the output of `sha256sum`. Raises KeyError if it is not listed."""
    sums = {parts[1].lstrip("*"): parts[0] for line in listing.splitlines() if len(parts := line.split()) == 2}
    return sums[name]


def verified(data: bytes, expected: str, name: str) -> bytes:
    """Return `data` if its SHA-256 is the expected one. Raises ValueError otherwise."""
    actual = hashlib.sha256(data).hexdigest()
    if actual != expected.lower():
        raise ValueError(f"{name} has the SHA-256 {actual} instead of {expected}: refused")
    return data


def install(data: bytes, path: Path) -> None:
    """Write a program atomically."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_bytes(data)
        partial.chmod(0o755)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
