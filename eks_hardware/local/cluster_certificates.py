"""Keys and certificates of a local cluster. Each cluster has a new certificate authority, deleted with the cluster."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAYS = 365
_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


@dataclass(frozen=True)
class Pair:
    """The files of a certificate and its key, in PEM."""

    certificate: Path
    key: Path


class Authority:
    """A new certificate authority, with its files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("eks-hardware local cluster")
        certificate = (
            self._unsigned(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = self._write("ca.crt", certificate.public_bytes(serialization.Encoding.PEM))

    def server(self, address: str) -> Pair:
        """Create a certificate for servers on an address."""
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in _NAMES]
        names.append(x509.IPAddress(ipaddress.ip_address(address)))
        return self._pair(
            "server", _name("server"), ExtendedKeyUsageOID.SERVER_AUTH, x509.SubjectAlternativeName(names)
        )

    def client(self, user: str, *, group: str | None = None) -> Pair:
        """Create a client certificate for a Kubernetes user."""
        return self._pair(user, _name(user, group), ExtendedKeyUsageOID.CLIENT_AUTH)

    def key(self, name: str) -> Pair:
        """Create a key pair without a certificate; ``certificate`` is the file with the public key."""
        key = ec.generate_private_key(ec.SECP256R1())
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return Pair(self._write(f"{name}.pub", public), self._write_key(name, key))

    def _pair(
        self, name: str, subject: x509.Name, usage: x509.ObjectIdentifier, *extensions: x509.ExtensionType
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._unsigned(subject, key.public_key())
        for extension in (x509.ExtendedKeyUsage([usage]), *extensions):
            builder = builder.add_extension(extension, critical=False)
        signed = builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        name = name.replace(":", "-")
        return Pair(self._write(f"{name}.crt", signed), self._write_key(name, key))

    def _unsigned(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.timezone.utc)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            # An hour ago, in case the clock is set back.
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=_DAYS))
        )

    def _write_key(self, name: str, key: ec.EllipticCurvePrivateKey) -> Path:
        return self._write(
            f"{name}.key",
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )

    def _write(self, name: str, content: bytes) -> Path:
        file = self._folder / name
        file.touch(mode=0o600)
        file.write_bytes(content)
        return file


def _name(user: str, group: str | None = None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
    if group:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(parts)
