"""Who holds an address, as messages name them: the IPAMClaim or pod, with its VM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...facts.addresses import blocks, number
from ...facts.addresses import host as canonical
from ...facts.naming import named
from ...facts.pool import by_family, implicit
from ...findings.check import View
from ...findings.partial import known
from ...store.indexes.networks import ADDRESS, address
from ...store.kinds.ipam_claim import IPAMClaim
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.pod import Pod

# By what a network keeps an address from pods, in the words of its configuration.


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


Holder = IPAMClaim | Pod


def described(holders: Iterable[Holder]) -> list[str]:
    """`IPAMClaim ns/db.blue of VM db`, in order."""
    return sorted(map(_described, holders))


def _described(holder: Holder) -> str:
    name = holder.domain if isinstance(holder, Pod) else holder.vms[0]
    return f"{holder.ref} of VM {name}" if name else str(holder.ref)


def withheld(
    view: View, nad: NetworkAttachmentDefinition, claim: IPAMClaim, requested: Iterable[str]
) -> dict[str, str]:
    """Of addresses that the claim's VM requests, those that it can't have, and why: as in `10.0.0.5 is …`."""
    found = {}
    for text in requested:
        ip = canonical(text) or text
        holders, by = other_holders(view, claim.network, ip, claim), withheld_by(nad, number(ip))
        if holders:
            found[text] = f"held by {named(described(holders))}"
        elif by and not by.startswith("reserved"):  # which is for those that ask
            found[text] = within(by)
    return found


def within(by: str) -> str:
    """`by` as `withheld_by` gives it."""
    return by if by.startswith("the ") else f"in {by}"


def other_holders(view: View, network: str, host: str, claim: IPAMClaim) -> list[Holder]:
    """Those that are known to hold an address of a network and stay, but for the claim and for pods of its VM."""
    return known(_others(view, network, host, claim))[0]


def _others(view: View, network: str, host: str, claim: IPAMClaim) -> Iterator[Holder]:
    for each in view.sharing(ADDRESS, address(network, host)):
        if isinstance(each, Pod) and each.deleting is None:
            if each.namespace != claim.namespace or not each.domain or each.domain not in claim.vms:
                yield each
        elif isinstance(each, IPAMClaim) and each is not claim:
            yield each
