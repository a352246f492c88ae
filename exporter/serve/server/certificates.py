"""The certificate that is served, and its replacement while the steward runs.

A pair that can't be used keeps the one before: half of it may still be on its way.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509 import Certificate, load_pem_x509_certificates

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
