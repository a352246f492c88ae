"""Who holds an address, as messages name them: the IPAMClaim or pod, with its VM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...domain.networks.withheld import withheld_by
from ...facts.addresses import host as canonical
from ...facts.addresses import number
from ...facts.naming import named
from ...findings.check import View
from ...findings.partial import known
from ...store.indexes.networks import ADDRESS, address
from ...store.kinds.ipam_claim import IPAMClaim
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.pod import Pod

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
