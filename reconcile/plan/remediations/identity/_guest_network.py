"""Whether the configuration that a VM brings for its guest knows an interface by its MAC address: cloud-init's does."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

from exporter.domain.networks.mac import comparable

from ...plan import Refused
from .._grounds import table, tables

__all__ = ["NOT_BY_MAC", "known_by_mac"]

NOT_BY_MAC = {
    "not_known_by_mac": "cloud-init's data in the VM do not name the old MAC address, and are in no Secret that would "
    "have to be read for that"
}
_SOURCES = ("cloudInitNoCloud", "cloudInitConfigDrive")
_ADDRESS = re.compile(r"[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5}|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}")


def known_by_mac(vm: Mapping[str, Any], mac: str) -> Refused | None:
    """`mac` is in comparable form."""
    template = table(table(table(vm.get("spec")).get("template")).get("spec"))
    for volume in tables(template.get("volumes")):
        for source in (table(volume.get(name)) for name in _SOURCES):
            if why := _names(source, mac):
                return Refused("not_known_by_mac", f"volume {volume.get('name')} {why}")
    return None


def _names(source: Mapping[str, Any], mac: str) -> str:
    if source.get("networkDataSecretRef"):
        return "has its network data in a Secret, which may name the MAC address and is not read"
    for text in _texts(source):
        if text is None:
            return "has data that can't be decoded"
        if mac in map(comparable, _ADDRESS.findall(text)):
            return f"names the MAC address {mac}: change it there together with the interface"
    return ""


def _texts(source: Mapping[str, Any]) -> Iterator[str | None]:
    for name in ("networkData", "userData"):
        if text := source.get(name):
            yield str(text)
        if coded := source.get(f"{name}Base64"):
            try:
                yield b64decode(str(coded), validate=True).decode(errors="replace")
            except ValueError:
                yield None
