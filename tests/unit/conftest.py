"""Fixtures of all unit tests."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def no_public_authorities() -> Iterator[None]:
    """Hide the certificates of public authorities: hundreds of TLS contexts would read the file, 23 ms each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", os.devnull)
        patch.setenv("SSL_CERT_DIR", os.devnull)
        yield
