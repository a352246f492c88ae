"""By what a network keeps an address from pods, in the words of its configuration."""

from __future__ import annotations

from ...facts.addresses import blocks
from ...facts.pool import by_family, implicit
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition


def withheld_by(nad: NetworkAttachmentDefinition, address: int) -> str:
    """`excluded subnet 10.0.0.0/28`, an infrastructure or reserved one, or the network's own address; else empty."""
    ranges = (("excluded", nad.excludes), ("infrastructure", nad.infrastructure), ("reserved", nad.reserved))
    for kind, texts in ranges:
        for block in blocks(texts):
            if block.first <= address <= block.last:
                return f"{kind} subnet {block}"
    gateways, own = by_family(nad.gateways), blocks(nad.infrastructure)
    for block in blocks(nad.subnets):
        if block.first <= address <= block.last:
            gateway, *other = implicit(block, gateways, nad.role, nad.topology, own) or [-1]
            if address == gateway:
                return "the network's gateway"
            if address in other:
                return "the network's management address"
    return ""
