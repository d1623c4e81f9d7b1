"""The certificate of the metrics: from files, which may be rotated, or self-signed."""

import os
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization as pem

from cluster.certificates import create_authority
from coxswain.serving import certificates
from coxswain.serving.certificates import CertificateFiles, InvalidCertificate, self_signed_context
from coxswain.serving.self_signed import self_signed


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def issue(directory: Path, name: str) -> None:
    """Put a certificate for a host name and its key into a directory."""
    certificate, key = create_authority(directory, "authority").issue(directory, name, (name,))
    certificate.rename(directory / "tls.crt")
    key.rename(directory / "tls.key")


def served_name(context: Callable[[], ssl.SSLContext]) -> str:
    """Return the common name in the certificate of the next connection."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    client, server = trusting.wrap_bio(back, there), context().wrap_bio(there, back, server_side=True)
    for _ in range(3):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    certificate = client.getpeercert(binary_form=True)
    assert certificate is not None
    [name] = x509.load_der_x509_certificate(certificate).subject
    return str(name.value)


def test_new_files_are_used_after_ten_seconds(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    clock = Clock()
    issue(tmp_path, "first")
    context = CertificateFiles(tmp_path, clock)
    issue(tmp_path, "second")
    clock.now += 9.9
    assert served_name(context) == "first"
    clock.now += 0.1
    assert served_name(context) == "second"
    assert caplog.messages == ["the certificate of the metrics was rotated"]
    clock.now += 10
    before = context()
    clock.now += 10
    assert context() is before, "the same files need no new context"


@pytest.mark.parametrize("broken", ["missing", "no certificate", "another key", "no text"])
def test_the_old_certificate_stays_until_the_new_one_is_valid(
    tmp_path: Path, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A rotation is not atomic for a reader of two files."""
    clock = Clock()
    issue(tmp_path, "first")
    context = CertificateFiles(tmp_path, clock)
    other = tmp_path / "other"
    other.mkdir()
    issue(other, "second")
    spoil(tmp_path, other, broken)
    for _ in range(3):
        clock.now += 10
        assert served_name(context) == "first"
    [message] = caplog.messages
    assert message.startswith("keeping the old certificate of the metrics: ")
    assert str(tmp_path) in message
    issue(tmp_path, "third")
    clock.now += 10
    assert served_name(context) == "third"


def spoil(directory: Path, other: Path, how: str) -> None:
    """Break the certificate in a directory."""
    match how:
        case "missing":
            (directory / "tls.key").unlink()
        case "no certificate":
            (directory / "tls.crt").write_text("no certificate")
        case "another key":
            (other / "tls.key").replace(directory / "tls.key")
        case "no text":
            (directory / "tls.crt").write_bytes(b"\xff\xfe")


@pytest.mark.parametrize("broken", ["missing", "no certificate", "another key", "no text"])
def test_a_start_needs_a_valid_certificate(tmp_path: Path, broken: str) -> None:
    other = tmp_path / "other"
    other.mkdir()
    issue(tmp_path, "first")
    issue(other, "second")
    spoil(tmp_path, other, broken)
    with pytest.raises(InvalidCertificate, match=str(tmp_path)) as raised:
        CertificateFiles(tmp_path)
    assert "PRIVATE KEY" not in str(raised.value)


def test_an_encrypted_key_is_refused_without_a_prompt(tmp_path: Path) -> None:
    issue(tmp_path, "first")
    key = tmp_path / "tls.key"
    loaded = pem.load_pem_private_key(key.read_bytes(), None)
    encrypted = pem.BestAvailableEncryption(b"secret")
    key.write_bytes(loaded.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, encrypted))
    with pytest.raises(InvalidCertificate, match="without a password"):
        CertificateFiles(tmp_path)


def test_a_self_signed_certificate_is_new_at_each_start() -> None:
    assert served_name(self_signed_context()) == "coxswain-metrics"
    assert self_signed() != self_signed()


def test_tls_1_1_is_refused() -> None:
    assert certificates._server_context().minimum_version >= ssl.TLSVersion.TLSv1_2


@pytest.mark.thorough
def test_the_library_is_loaded_only_for_a_self_signed_certificate() -> None:
    """It takes 9 MB."""
    program = "import coxswain.main, sys; print([name for name in sys.modules if name.startswith('cryptography')])"
    assert (
        subprocess.check_output(
            [sys.executable, "-c", program], text=True, env={"PYTHONPATH": os.pathsep.join(sys.path)}
        ).strip()
        == "[]"
    )
