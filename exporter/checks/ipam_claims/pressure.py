"""How full the network of an IPAMClaim is: what nobody needs is in the way there."""

from __future__ import annotations

from itertools import chain

from ...model.indexes.networks import NETWORK
from ...model.kinds.ipam_claim import IPAMClaim
from ...model.kinds.network_attachment_definition import NetworkAttachmentDefinition, pool_of
from ...model.kinds.pod import Pod
from ..base import View

__all__ = ["percent", "utilisation"]


def utilisation(view: View, ruler: NetworkAttachmentDefinition | None, attachments: set[str]) -> float:
    """The share of the fullest subnet that claims and pods hold, 0 to 1; the pods by these NADs (`namespace/name`)."""
    if ruler is None:
        return 0.0
    pool, members = pool_of(ruler), tuple(view.sharing(NETWORK, ruler.network))
    held = chain.from_iterable(each.numbers for each in members if isinstance(each, IPAMClaim))
    given = (
        number
        for each in members
        if isinstance(each, Pod)
        for (attachment, _, _), number in zip(each.addresses, each.numbers, strict=True)
        if attachment in attachments
    )
    return pool.utilisation(pool.used(chain(held, given)))


def percent(share: float) -> str:
    """Rounded down, so that 100 % is full."""
    return f"{int(share * 100)} %"
