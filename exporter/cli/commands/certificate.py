"""`steward certificate`: a certificate of its own CA, for a steward that nobody gives one."""

from __future__ import annotations

import argparse
import os
import stat
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ...config.forms import host_name
from ...http.server.certificates import key_of, public_form
from ...kube.errors import ConfigError
from ..output.terminal import complain, say

__all__ = ["add"]

_ALWAYS = ("localhost", "127.0.0.1", "::1")
_LIFE = timedelta(days=3650)  # that of the pod, whose init container makes it: nothing renews it meanwhile
_LEAST = timedelta(days=365)  # less of it left, and it is made anew
_EARLIER = timedelta(hours=1)  # clocks differ


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "certificate",
        help="write a certificate, its key, and the CA that it is of",
        description="Writes ca.crt, tls.crt and tls.key to a directory: a certificate for the names, localhost and the "
        "addresses of loopback, of a new CA whose key is not kept. Leaves files alone that are for these names and "
        "valid for another year. For an init container: whoever has ca.crt can verify the steward.",
    )
    parser.add_argument("--directory", type=Path, required=True, metavar="DIR", help="made if it is not there")
    parser.add_argument(
        "--name", action="append", type=_name, required=True, metavar="NAME", help="host name or IP address; repeatable"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    names = tuple(dict.fromkeys((*arguments.name, *_ALWAYS)))
    directory: Path = arguments.directory
    try:
        if _fine(directory, names):
            say(f"The certificate in {directory} is valid; it stays.\n")
            return 0
        _write(directory, names)
    except OSError as error:
        complain(f"cannot write the certificate to {directory}: {error.strerror or error}")
        return 2
    say(f"Wrote ca.crt, tls.crt and tls.key for {', '.join(names)} to {directory}.\n")
    return 0


def _name(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        try:
            return host_name(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error


def _alternatives(names: tuple[str, ...]) -> x509.SubjectAlternativeName:
    def general(name: str) -> x509.GeneralName:
        try:
            return x509.IPAddress(ip_address(name))
        except ValueError:
            return x509.DNSName(name)

    return x509.SubjectAlternativeName(general(each) for each in names)


def _fine(directory: Path, names: tuple[str, ...]) -> bool:
    """Whether what is there can stay. What can't be read, or is something else, can't."""
    try:
        authority = x509.load_pem_x509_certificate((directory / "ca.crt").read_bytes())
        certificate = x509.load_pem_x509_certificate((directory / "tls.crt").read_bytes())
        if not _of_nobody_else(directory / "tls.key"):
            return False
        key = key_of(directory / "tls.key", (directory / "tls.key").read_bytes())
        certificate.verify_directly_issued_by(authority)
        served = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, TypeError, ConfigError, InvalidSignature, x509.ExtensionNotFound):
        return False
    now = datetime.now(UTC)
    valid = all(
        each.not_valid_before_utc <= now <= each.not_valid_after_utc - _LEAST for each in (authority, certificate)
    )
    return valid and public_form(key) == public_form(certificate) and set(_alternatives(names)) <= set(served)


def _of_nobody_else(key: Path) -> bool:
    """Whether nobody else wrote the key, or can read it. What its group can is up to the volume that it is in."""
    found = key.lstat()
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & stat.S_IRWXO


def _write(directory: Path, names: tuple[str, ...]) -> None:
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _common_name("kubevirt-steward CA")
    authority = (
        _begun(issuer, issuer, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    certificate = (
        _begun(_common_name("kubevirt-steward"), issuer, key)
        .add_extension(_alternatives(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    directory.mkdir(parents=True, exist_ok=True)
    _replace(directory / "tls.key", key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600)
    _replace(directory / "tls.crt", certificate.public_bytes(Encoding.PEM), 0o644)
    _replace(directory / "ca.crt", authority.public_bytes(Encoding.PEM), 0o644)


def _common_name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return x509.CertificateBuilder(
        issuer, subject, key.public_key(), x509.random_serial_number(), now - _EARLIER, now + _LIFE
    )


def _usage(**used: bool) -> x509.KeyUsage:
    every = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    )
    return x509.KeyUsage(**{each: used.get(each, False) for each in every})


def _replace(file: Path, content: bytes, mode: int) -> None:
    """Whole, or as it was. Nobody else can read it before it has its mode."""
    new = file.with_name(f".{file.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        os.fchmod(opened.fileno(), mode)
        opened.write(content)
    new.replace(file)
