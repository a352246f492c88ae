"""Certificates and keys as files."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

import trustme


@dataclass
class Tls:
    """A CA of its own, a server's side for 127.0.0.1, and files for a client's."""

    authority: trustme.CA
    server: ssl.SSLContext
    ca: str
    certificate: str
    key: str

    def serves(self, *names: str) -> ssl.SSLContext:
        """Another server's side, by other names."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert(*names).configure_cert(context)
        return context

    def wants_certificates(self) -> ssl.SSLContext:
        context = self.serves("127.0.0.1")
        self.authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
        return context
