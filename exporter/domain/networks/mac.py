"""MAC addresses as VMs and VMIs spell them, brought to one spelling."""

from __future__ import annotations

import re

# The spellings that Go's net.ParseMAC reads, by which KubeVirt admits a MAC address: six pairs with colons or dashes,
# or three groups with dots.
_PAIRS = re.compile(r"[0-9a-f]{2}(?:(?::[0-9a-f]{2}){5}|(?:-[0-9a-f]{2}){5})", re.ASCII)
_GROUPS = re.compile(r"[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}", re.ASCII)
# Those that are comparable as they are: most of them.
_COMPARABLE = re.compile(r"[0-9a-f][02468ace](?::[0-9a-f]{2}){5}")
_NO_ADDRESS = "00:00:00:00:00:00"
_GROUP_BIT = 1  # of the first octet: an address of many, which no interface has for its own


def comparable(text: str | None) -> str:
    """What all spellings of one address share, six pairs with colons; empty for none, and for one of no interface."""
    if text and _COMPARABLE.fullmatch(text):
        return text if text != _NO_ADDRESS else ""
    spelt = (text or "").strip().lower()
    if not (_PAIRS.fullmatch(spelt) or _GROUPS.fullmatch(spelt)):
        return ""
    digits = spelt.translate(_BARE)
    if int(digits[:2], 16) & _GROUP_BIT or not int(digits, 16):
        return ""
    return ":".join(digits[at : at + 2] for at in range(0, 12, 2))


_BARE = str.maketrans("", "", ":-.")
