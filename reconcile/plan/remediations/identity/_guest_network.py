"""Whether the configuration that a VM brings for its guest knows an interface by its MAC address.

That of cloud-init and of Ignition may, as may an answer file of Windows, whose interfaces have it as their Identifier.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

from exporter.domain.features.rule import IGNITION
from exporter.domain.networks.mac import comparable

from ...plan import Refused
from .._grounds import table, tables

NOT_BY_MAC = {
    "not_known_by_mac": "the data for cloud-init and Ignition in the VM do not name the old MAC address, and neither "
    "they nor an answer file of Windows are in a Secret or ConfigMap that would have to be read for that"
}
_SOURCES = ("cloudInitNoCloud", "cloudInitConfigDrive")
_SECRETS = {"networkDataSecretRef": "network data", "secretRef": "user data"}  # by the fields that name them
_ADDRESS = re.compile(r"[0-9a-fA-F]{2}(?:[:-][0-9a-fA-F]{2}){5}|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}")
# A file of cloud-init or a part of its user data, data of it that are compressed, and a file of Ignition (data:,…).
_CODED = re.compile(r"encoding:\s*['\"]?(?:b64|base64|quoted|gz)|!!binary|\A\x1f|\bdata:[^\s,]*,", re.IGNORECASE)


def known_by_mac(vm: Mapping[str, Any], mac: str) -> Refused | None:
    """`mac` is in comparable form."""
    template = table(table(vm.get("spec")).get("template"))
    ignition = table(table(template.get("metadata")).get("annotations")).get(IGNITION)
    if why := _found(str(ignition or ""), mac):
        return Refused("not_known_by_mac", f"annotation {IGNITION} {why}")
    for volume in tables(table(template.get("spec")).get("volumes")):
        if table(volume.get("sysprep")):
            why = "is an answer file of Windows, which may name the MAC address and is not read"
            return Refused("not_known_by_mac", f"volume {volume.get('name')} {why}")
        for source in (table(volume.get(name)) for name in _SOURCES):
            if why := _names(source, mac):
                return Refused("not_known_by_mac", f"volume {volume.get('name')} {why}")
    return None


def _names(source: Mapping[str, Any], mac: str) -> str:
    for name, what in _SECRETS.items():
        if source.get(name):
            return f"has its {what} in a Secret, which may name the MAC address and is not read"
    for text in _texts(source):
        if text is None:
            return "has data that can't be decoded"
        if why := _found(text, mac):
            return why
    return ""


def _found(text: str, mac: str) -> str:
    if mac in map(comparable, _ADDRESS.findall(text)):
        return f"names the MAC address {mac}: change it there together with the interface"
    return "has parts that are coded, which may name the MAC address and are not read" if _CODED.search(text) else ""


def _texts(source: Mapping[str, Any]) -> Iterator[str | None]:
    for name in ("networkData", "userData"):
        if text := source.get(name):
            yield str(text)
        if coded := source.get(f"{name}Base64"):
            try:
                yield b64decode(str(coded), validate=True).decode(errors="replace")
            except ValueError:
                yield None
