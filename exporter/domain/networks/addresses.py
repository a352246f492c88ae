"""IP addresses as claims, pods and networks spell them, brought to one spelling."""

from __future__ import annotations

import ipaddress
import re

_LONGEST_PREFIX = 7  # characters; no prefix length of so many is one
_PART = r"0*\d{1,3}"
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_CANONICAL = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_IPV4 = re.compile(rf"{_PART}\.{_PART}\.{_PART}\.{_PART}", re.ASCII)


def host(text: str) -> str | None:
    """The address in `address[/prefix]`, canonical; None where it is none.

    Leading zeros of IPv4 parts are read as decimal, as OVN-Kubernetes does.
    """
    address = text.partition("/")[0].strip()
    if _CANONICAL.fullmatch(address):
        return address
    if _IPV4.fullmatch(address):
        parts = [int(part) for part in address.split(".")]
        return ".".join(map(str, parts)) if max(parts) < 256 else None
    try:
        return str(ipaddress.IPv6Address(address))
    except ValueError:
        return None


def prefix(text: str) -> int:
    """The prefix length in `address/prefix`; -1 where there is none."""
    length = text.partition("/")[2].strip()
    return int(length) if length.isdecimal() and len(length) <= _LONGEST_PREFIX else -1
