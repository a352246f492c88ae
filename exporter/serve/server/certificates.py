"""The certificate that is served, and its replacement while the steward runs.

A pair that can't be used keeps the one before: half of it may still be on its way.

A steward that nobody gives one has a certificate of a CA of its own: made, and looked at whether it can stay.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509 import Certificate, load_pem_x509_certificates
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ...config.file import content_of, digest_of
from ...config.reloading import Watched
from ...config.settings import TLSSettings
from ...kube.errors import ConfigError

log = logging.getLogger(__name__)
_LOOK = 2.0  # seconds; a change counts once two reads agree
_NEITHER = (
    "serving is not configured. For TLS, set tls.certFile and tls.keyFile, which `steward certificate` can create. For "
    "plain HTTP without tokens, set insecure or --insecure"
)
_BOTH = "tls.certFile and insecure contradict each other. Omit one of them"


@dataclass(frozen=True)
class _Pair:
    context: ssl.SSLContext
    expires: float
    digests: tuple[str, str]


class Certificates:
    def __init__(self, cert_file: Path, key_file: Path) -> None:
        """Raises ConfigError for files that are no certificate and its key."""
        self._files = (cert_file, key_file)
        self._pair = _loaded(cert_file, key_file)
        self._refused = ""
        self._warn()

    @property
    def context(self) -> ssl.SSLContext:
        """For the next connection."""
        return self._pair.context

    @property
    def expires(self) -> float:
        """In seconds since 1970."""
        return self._pair.expires

    async def follow(self) -> None:
        """Takes the files when they change, and does not return."""
        watched = [Watched(*each) for each in zip(self._files, self._pair.digests, strict=True)]
        while True:
            await asyncio.sleep(_LOOK)
            changed = [each.changed() for each in watched]  # each of them has to look
            if any(changed):
                self._renew()

    def _renew(self) -> None:
        try:
            pair = _loaded(*self._files)
        except ConfigError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                why = f"{self._refused}; the previous certificate is still served"
                log.error('event="certificate rejected" why="%s"', why)
            return
        self._refused = ""
        if pair.digests != self._pair.digests:
            self._pair = pair
            log.info('event="certificate loaded" file=%s', self._files[0])
            self._warn()

    def _warn(self) -> None:
        """It is served even so: whoever does not verify it goes on, and the one before is no better."""
        if self.expires <= time.time():
            why = "it has expired, and clients that verify it can't connect. Renew it"
            log.warning('event="certificate expired" file=%s why="%s"', self._files[0], why)


def certificates_of(tls: TLSSettings, insecure: bool) -> Certificates | None:
    """None for plain HTTP, which has to be chosen. Raises ConfigError."""
    if insecure and tls.cert_file:
        raise ConfigError(_BOTH)
    if tls.cert_file and tls.key_file:
        return Certificates(Path(tls.cert_file), Path(tls.key_file))
    if not insecure:
        raise ConfigError(_NEITHER)
    return None


def _loaded(cert_file: Path, key_file: Path) -> _Pair:
    contents = _content(cert_file, "certFile"), _content(key_file, "keyFile")
    certificate, key = _certificate(cert_file, contents[0]), key_of(key_file, contents[1])
    if public_form(certificate) != public_form(key):
        raise ConfigError(f"the key in {key_file} is of another certificate than {cert_file}. Replace one of them")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION  # it costs the server more than whoever asks for it
    try:
        context.load_cert_chain(cert_file, key_file, password=lambda: "")  # which asks nobody at the terminal
    except (ssl.SSLError, OSError) as error:
        why = getattr(error, "reason", None) or error.strerror or error
        raise ConfigError(f"the certificate in {cert_file} and its key in {key_file} can't be used: {why}") from error
    return _Pair(context, certificate.not_valid_after_utc.timestamp(), (digest_of(contents[0]), digest_of(contents[1])))


def _content(file: Path, key: str) -> bytes:
    try:
        return content_of(file)
    except OSError as error:
        advice = "mount its Secret there, or make it with `steward certificate`"
        raise ConfigError(f"tls.{key}: {file} can't be read: {error.strerror or error}; {advice}") from error


def _certificate(file: Path, content: bytes) -> Certificate:
    """The first one, which is the server's."""
    try:
        return load_pem_x509_certificates(content)[0]
    except ValueError as error:
        raise ConfigError(f"tls.certFile: {file} has no certificate in PEM form") from error


def key_of(file: Path, content: bytes) -> Any:
    """A private key. Raises ConfigError."""
    try:
        return load_pem_private_key(content, None)
    except TypeError as error:
        raise ConfigError(f"tls.keyFile: the key in {file} has a password. Write it without a password") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ConfigError(f"tls.keyFile: {file} has no private key in PEM form that can be used") from error


def public_form(holder: Any) -> bytes:
    """The public key of a certificate or of a private key, to compare."""
    form: bytes = holder.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return form


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
