"""Load certificates and keys from text. Python itself loads them only from files."""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


def load_chain(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Load a certificate, with its chain, and its key, both in PEM. The key is written to no disk on Linux.

    Raises:
        OSError, ValueError: One of them is not valid, or the key is encrypted or that of another certificate.
    """
    with _file_with(f"{certificate}\n{key}") as path:
        # Without a password OpenSSL would prompt on the terminal for an encrypted key.
        context.load_cert_chain(path, password="")


@contextmanager
def _file_with(text: str) -> Iterator[str]:
    """Yield the path of a temporary file with this text, in memory only on Linux."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("certificate"), "wb") as memory:
            memory.write(text.encode())
            memory.flush()
            yield f"/proc/self/fd/{memory.fileno()}"
    else:
        with tempfile.NamedTemporaryFile() as temporary:
            temporary.write(text.encode())
            temporary.flush()
            yield temporary.name
