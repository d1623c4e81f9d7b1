"""The keys of a throwaway cluster: its own CA, the API server's certificate, the ServiceAccounts' signing key."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=30)
CLOCK_SKEW = datetime.timedelta(hours=1)


@dataclass(frozen=True)
class Authority:
    """A certificate authority; `issue` writes certificates signed by it."""

    certificate_file: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def issue(
        self, directory: Path, name: str, addresses: tuple[str, ...], *, client: bool = False
    ) -> tuple[Path, Path]:
        """Write `name`.crt and `name`.key for a server at these IP addresses and host names, or for a client."""
        usage = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(_subject(name), self.certificate.subject, key.public_key())
            .add_extension(x509.SubjectAlternativeName([_general_name(text) for text in addresses]), critical=False)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        certificate_file = directory / f"{name}.crt"
        certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return certificate_file, write_key(directory / f"{name}.key", key)


def create_authority(directory: Path, name: str) -> Authority:
    """Create an authority and write its certificate to `name`.crt. Its key stays in memory."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder(_subject(name), _subject(name), key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_signing_usage(), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = directory / f"{name}.crt"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Authority(file, certificate, key)


def write_key(file: Path, key: ec.EllipticCurvePrivateKey | None = None) -> Path:
    """Write a private key, by default a new one, readable only by this user."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    file.touch(mode=0o600)
    file.write_bytes(pem)
    return file


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + LIFETIME)
    )


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _signing_usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        key_cert_sign=True,
        crl_sign=True,
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
