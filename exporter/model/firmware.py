"""The firmware identity of a machine: its SMBIOS UUID and serial (firmware-eviction A.1, A.5, A.8)."""

from __future__ import annotations

from enum import StrEnum
from hashlib import blake2b, sha1
from sys import intern
from uuid import UUID

from .record import Wire

__all__ = [
    "Invalid",
    "WireFirmware",
    "WireTPM",
    "comparable",
    "group_id",
    "identifying",
    "invalid",
    "legacy",
    "serial_key",
    "swapped",
]

# KubeVirt's constant of 2018; what it hashes is the name alone, in every release (firmware-eviction A.1).
_NAMESPACE = UUID("6a1a24a1-4061-4607-8bf4-a3963d0c5895").bytes
_PLACEHOLDERS = frozenset(
    (
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "03000200-0400-0500-0006-000700080009",
    )
)


class Invalid(StrEnum):
    """Why a UUID identifies nobody."""

    MALFORMED = "Malformed"
    PLACEHOLDER = "Placeholder"


class _EFI(Wire, frozen=True, gc=False):
    persistent: bool | None = None


class _Bootloader(Wire, frozen=True, gc=False):
    efi: _EFI | None = None


class WireFirmware(Wire, frozen=True, gc=False):
    uuid: str | None = None
    serial: str | None = None
    bootloader: _Bootloader | None = None


class WireTPM(Wire, frozen=True, gc=False):
    persistent: bool | None = None


def legacy(name: str) -> str:
    """The UUID that KubeVirt derives from a machine's name: RFC 4122 version 5, in canonical form."""
    raw = bytearray(sha1(_NAMESPACE + name.encode(), usedforsecurity=False).digest()[:16])
    raw[6] = raw[6] & 0x0F | 0x50
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def comparable(text: str) -> str:
    """What two spellings of one UUID share: its canonical form; of text that is no UUID, the text in lower case.

    Empty for none.
    """
    text = text.strip()
    if not text:
        return ""
    try:
        return intern(str(UUID(text)))
    except ValueError:
        return intern(text.lower())


def invalid(text: str) -> Invalid | None:
    """Why a UUID, in any spelling, identifies nobody; None of one that is well, and of none at all."""
    text = text.strip()
    if not text:
        return None
    try:
        canonical = str(UUID(text))
    except ValueError:
        return Invalid.MALFORMED
    return Invalid.PLACEHOLDER if canonical in _PLACEHOLDERS else None


def identifying(text: str | None) -> str:
    """The comparable form of a UUID that identifies somebody; empty for none, and for an invalid one."""
    return comparable(text) if text and not invalid(text) else ""


def swapped(key: str) -> str:
    """The other byte order of a canonical UUID, which some guests and tools show (firmware-eviction A.8)."""
    return str(UUID(bytes=UUID(key).bytes_le))


def serial_key(text: str) -> str:
    """What two spellings of one serial share; empty for none."""
    return intern(text.strip().casefold())


def group_id(key: str) -> str:
    """A short name for those that share a value: ten hex digits, always the same, and not the value itself."""
    return blake2b(key.encode(), digest_size=5).hexdigest()
