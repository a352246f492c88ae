"""The firmware identity of a VM: its SMBIOS UUID and serial."""

from __future__ import annotations

import re
from enum import StrEnum
from hashlib import blake2b, sha1
from sys import intern
from uuid import UUID

import msgspec

from .record import Wire

# KubeVirt's constant of 2018; what it hashes is the name alone, in every release.
_NAMESPACE = UUID("6a1a24a1-4061-4607-8bf4-a3963d0c5895").bytes
_CANONICAL = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEXADECIMAL = re.compile(r"[0-9a-f]{32}")
_SEED = "ds=nocloud"  # or ds=nocloud-net
_PLACEHOLDERS = frozenset(
    (
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "03000200-0400-0500-0006-000700080009",
    )
)


class Invalid(StrEnum):
    """Why a UUID does not identify a VM."""

    MALFORMED = "Malformed"
    PLACEHOLDER = "Placeholder"


class WireEFI(Wire, frozen=True, gc=False):
    persistent: bool | None = None


class WireBootloader(Wire, frozen=True, gc=False):
    efi: WireEFI | None = None
    bios: object = None


class WireKernelBoot(Wire, frozen=True, gc=False):
    container: object = None


class WireFirmware(Wire, frozen=True, gc=False):
    uuid: str | None = None
    serial: str | None = None
    bootloader: WireBootloader | None = None
    kernel_boot: WireKernelBoot | None = None


class WireTPM(Wire, frozen=True, gc=False):
    persistent: bool | None = None
    enabled: bool | None = None


def random(uuid: str) -> bool:
    """Whether a UUID, in canonical form, says that it is random: of RFC 4122's variant and version 4."""
    return uuid[14:15] == "4" and uuid[19:20] in tuple("89ab")


def legacy(name: str) -> str:
    """The UUID that KubeVirt derives from a VM's name: RFC 4122 version 5, in canonical form."""
    raw = bytearray(sha1(_NAMESPACE + name.encode(), usedforsecurity=False).digest()[:16])
    raw[6] = raw[6] & 0x0F | 0x50
    raw[8] = raw[8] & 0x3F | 0x80
    return _dashed(raw.hex())


def derived(uuid: str, name: str) -> bool:
    """Whether a comparable UUID is the one that KubeVirt derives from a name."""
    return uuid[14:15] == "5" and uuid == legacy(name)  # no other version is


def _canonical(text: str) -> str | None:
    """The canonical form of a UUID in any of its spellings; None for text that is not one.

    Stricter than `uuid.UUID`, which takes signs, underscores and digits of any script for hexadecimal ones.
    """
    if _CANONICAL.fullmatch(text):
        return text
    digits = text.strip().lower().removeprefix("urn:uuid:").removeprefix("{").removesuffix("}").replace("-", "")
    return _dashed(digits) if _HEXADECIMAL.fullmatch(digits) else None


def _dashed(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def comparable(text: str) -> str:
    """What two spellings of one UUID share: its canonical form; for other text the text in lower case.

    Empty for none.
    """
    return intern(_canonical(text) or text.strip().casefold())


def invalid(text: str) -> Invalid | None:
    """Why a UUID, in any spelling, does not identify a VM; None for a valid one, and for an empty text."""
    canonical = _canonical(text)
    if canonical is None:
        return Invalid.MALFORMED if text.strip() else None
    return Invalid.PLACEHOLDER if canonical in _PLACEHOLDERS else None


def identifying(text: str | None) -> str:
    """The comparable form of a UUID that identifies a VM; empty for none, and for an invalid one."""
    canonical = _canonical(text) if text else None
    return intern(canonical) if canonical is not None and canonical not in _PLACEHOLDERS else ""


def serial_key(text: str) -> str:
    """What two spellings of one serial share; empty for none, and for one that is a setting of cloud-init: its source
    NoCloud takes the place of its seed from there, which VMs have in common on purpose (`load_cmdline_data` in
    cloudinit/sources/DataSourceNoCloud.py of canonical/cloud-init).
    """
    key = text.strip().casefold()
    return "" if any(word.startswith(_SEED) for word in key.split()) else intern(key)


def group_id(key: str) -> str:
    """A short name for those that share a value: ten hex digits, always the same, and not the value itself."""
    return blake2b(key.encode(), digest_size=5).hexdigest()


# What JSON patches change of that by which a copied VM is known: its UUID, serial and MAC addresses.
#
# KubeVirt takes the patches of a VirtualMachineRestore and of a VirtualMachineClone as texts, one operation each
# (staging/src/kubevirt.io/api/snapshot and .../clone of kubevirt/kubevirt).

DOMAIN = "/spec/template/spec/domain"
Changes = tuple[tuple[str, str | None], ...]
"""JSON pointers at or above what they change, each with the text that is there then; None for anything else."""

_MOST = 100  # operations, of which anybody may write as many as they like
_SETS = ("add", "replace")


class _Op(msgspec.Struct):
    op: str
    path: str
    value: object = None


def changes_of(patches: list[str | None] | None) -> Changes:
    """In the order of the patches; one that can't be read may change anything."""
    found: list[tuple[str, str | None]] = []
    for text in (patches or ())[:_MOST]:
        try:
            op = msgspec.json.decode(text or "", type=_Op)
        except msgspec.DecodeError:
            found.append(("", None))
            continue
        if op.op != "test":
            sets = op.op in _SETS and isinstance(op.value, str)
            found.append((op.path, op.value if sets else "" if op.op == "remove" else None))  # type: ignore[arg-type]
    return tuple(found)


def after(changes: Changes, path: str, now: str) -> str | None:
    """What is at a path once the patches were applied; None where that is not known."""
    value: str | None = now
    for changed, text in changes:
        if changed == path:
            value = text
        elif path.startswith(f"{changed}/"):
            value = None
    return value
