"""The certificate of the metrics server: from files, which may be rotated, or self-signed."""

import logging
import ssl
import time
from collections.abc import Callable
from pathlib import Path

from coxswain.pem import load_chain

log = logging.getLogger(__name__)

CERTIFICATE, KEY = "tls.crt", "tls.key"
"""The keys of a Secret of type kubernetes.io/tls, and so the files of its volume."""
_READ_INTERVAL = 10.0
"""Seconds between two reads of the files. The kubelet updates a volume within about a minute."""


class InvalidCertificate(Exception):
    """The certificate or its key is missing or not valid."""


class CertificateFiles:
    """The TLS context of `tls.crt` and `tls.key` in a directory, with new files after a rotation."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Read the files.

        Raises:
            InvalidCertificate: One of them is missing or not valid.
        """
        self._directory = directory
        self._clock = clock
        self._next_read = clock() + _READ_INTERVAL
        self._pair = _read(directory)
        self._context = _context(self._pair, directory)
        self._failure: str | None = None

    def __call__(self) -> ssl.SSLContext:
        """Return the context for a new connection.

        Read the files again if it is time to. The old certificate stays in use while the new one is not valid.
        """
        if self._clock() >= self._next_read:
            self._next_read = self._clock() + _READ_INTERVAL
            try:
                self._reload()
                self._failure = None
            except InvalidCertificate as error:
                if str(error) != self._failure:
                    log.warning("keeping the old certificate of the metrics: %s", error)
                self._failure = str(error)
        return self._context

    def _reload(self) -> None:
        pair = _read(self._directory)
        if pair != self._pair:
            self._context = _context(pair, self._directory)
            self._pair = pair
            log.info("the certificate of the metrics was rotated")


def self_signed_context() -> Callable[[], ssl.SSLContext]:
    """Return a function that returns the context of a new self-signed certificate."""
    from coxswain.serving.self_signed import self_signed  # noqa: PLC0415 - it takes 9 MB, and a certificate from files needs none

    context = _server_context()
    load_chain(context, *self_signed())
    return lambda: context


def _read(directory: Path) -> tuple[str, str]:
    try:
        return (directory / CERTIFICATE).read_text("utf-8"), (directory / KEY).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidCertificate(f"the certificate in {directory} cannot be read: {error}") from error


def _context(pair: tuple[str, str], directory: Path) -> ssl.SSLContext:
    context = _server_context()
    try:
        load_chain(context, *pair)
    except (OSError, ValueError) as error:
        raise InvalidCertificate(
            f"{CERTIFICATE} and {KEY} in {directory} are not a certificate and its key without a password: {error}"
        ) from error
    return context


def _server_context() -> ssl.SSLContext:
    """Return a context for a server with TLS 1.2 or later, without client certificates.

    Some builds of Python, such as Debian's, leave the minimum to the configuration of OpenSSL on the machine.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
