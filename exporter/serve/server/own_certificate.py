"""A certificate of a CA of its own, for a steward that nobody gives one: made, and looked at whether it can stay."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ...kube.errors import ConfigError
from .certificates import key_of, public_form

__all__ = ["AUTHORITY", "CERTIFICATE", "KEY", "fits", "made"]

AUTHORITY, CERTIFICATE, KEY = "ca.crt", "tls.crt", "tls.key"
LIFE = timedelta(days=3650)  # of what nothing renews meanwhile: an init container's, or a Job's
LEAST = timedelta(days=365)  # less of it left, and it is made anew
_EARLIER = timedelta(hours=1)  # clocks differ


def fits(files: Mapping[str, bytes], names: tuple[str, ...]) -> bool:
    """Whether these files, by their names, are valid for long enough and for all names. What can't be read is not."""
    try:
        authority = x509.load_pem_x509_certificate(files[AUTHORITY])
        certificate = x509.load_pem_x509_certificate(files[CERTIFICATE])
        key = key_of(Path(KEY), files[KEY])
        certificate.verify_directly_issued_by(authority)
        served = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (KeyError, ValueError, TypeError, ConfigError, InvalidSignature, x509.ExtensionNotFound):
        return False
    now = datetime.now(UTC)
    valid = all(
        each.not_valid_before_utc <= now <= each.not_valid_after_utc - LEAST for each in (authority, certificate)
    )
    return valid and public_form(key) == public_form(certificate) and set(_alternatives(names)) <= set(served)


def made(names: tuple[str, ...]) -> dict[str, bytes]:
    """The files by their names, the key first. The key of the CA is not kept."""
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
    return {
        KEY: key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        CERTIFICATE: certificate.public_bytes(Encoding.PEM),
        AUTHORITY: authority.public_bytes(Encoding.PEM),
    }


def _alternatives(names: tuple[str, ...]) -> x509.SubjectAlternativeName:
    def general(name: str) -> x509.GeneralName:
        try:
            return x509.IPAddress(ip_address(name))
        except ValueError:
            return x509.DNSName(name)

    return x509.SubjectAlternativeName(general(each) for each in names)


def _common_name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return x509.CertificateBuilder(
        issuer, subject, key.public_key(), x509.random_serial_number(), now - _EARLIER, now + LIFE
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
