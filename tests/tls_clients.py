"""Both sides of TLS for tests: a certificate that is replaced, and clients that do not go on."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import trustme

__all__ = ["Mounted", "hello", "silent"]


class Mounted:
    """A certificate as the kubelet mounts a Secret: `..data` is a link that is swapped."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.authority, self.versions = folder, trustme.CA(), 0
        self.trusts = ssl.create_default_context()
        self.authority.configure_trust(self.trusts)
        self.issue()
        for name in ("tls.crt", "tls.key"):
            (folder / name).symlink_to(Path("..data") / name)

    def issue(self) -> tuple[bytes, bytes]:
        made = self.authority.issue_cert("127.0.0.1", "steward.monitoring.svc")
        pair = made.cert_chain_pems[0].bytes(), made.private_key_pem.bytes()
        self.put(*pair)
        return pair

    def put(self, certificate: bytes, key: bytes) -> None:
        self.versions += 1
        version = self.folder / f"..{self.versions}"
        version.mkdir()
        (version / "tls.crt").write_bytes(certificate)
        (version / "tls.key").write_bytes(key)
        link = self.folder / "..data_tmp"
        link.symlink_to(version.name)
        link.replace(self.folder / "..data")

    @property
    def files(self) -> tuple[Path, Path]:
        return self.folder / "tls.crt", self.folder / "tls.key"


async def silent(port: int, sent: bytes = b"", address: str = "127.0.0.1") -> socket.socket:
    """A connection without TLS, on which so much is sent, from this address of our own."""
    client = socket.socket()
    client.bind((address, 0))
    client.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(client, ("127.0.0.1", port))
    await loop.sock_sendall(client, sent)
    return client


def hello() -> bytes:
    """What a client of TLS sends first."""
    coming, going = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(coming, going, server_hostname="steward.monitoring.svc").do_handshake()
    return going.read()


# Certificates and keys as files.


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
