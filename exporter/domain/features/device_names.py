"""Which permitted devices have nearly the name that a VM asks for: another case or prefix, or a part of it.

Resource names are written by hand in two places, and commonly in two ways: `nvidia.com/TU104GL_Tesla_T4` is what device
plugins make of the PCI database, `nvidia.com/TU104GL` what documentation has. That two names mean one device can't be
known: only a mediated device whose type is what the VM's name says is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import islice

from .settings import Device

_COMPARED = 200  # permitted devices: clusters have a few kinds
_NAMED = 3
_ALIKE = 0.8  # of two vendors: one of a dozen letters is another


def like(device: str, permitted: Iterable[Device]) -> tuple[str, ...]:
    """The resource names of the first permitted devices that are nearly called so."""
    found = (each.resource_name for each in islice(permitted, _COMPARED) if _near(device, each))
    return tuple(islice(dict.fromkeys(name for name in found if name), _NAMED))


def _near(device: str, permitted: Device) -> bool:
    vendor, _, own = device.rpartition("/")
    other_vendor, _, other = (permitted.resource_name or "").rpartition("/")
    name, other_name = _letters(own), _letters(other)
    if not name or not other_name:
        return False
    if name == other_name:
        return not vendor or not other_vendor or _alike(vendor.lower(), other_vendor.lower())
    if name == _letters(permitted.mdev_name_selector or ""):
        return True
    words, others = set(_words(own)), set(_words(other))
    return vendor.lower() == other_vendor.lower() and (words < others or others < words)


def _alike(one: str, other: str) -> bool:
    return one == other or SequenceMatcher(None, one[:253], other[:253]).ratio() >= _ALIKE


def _letters(name: str) -> str:
    return "".join(_words(name))


def _words(name: str) -> Iterator[str]:
    """In lower case, and without what stands between them."""
    yield from "".join(each if each.isalnum() else " " for each in name.lower()).split()
