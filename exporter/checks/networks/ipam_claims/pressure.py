"""How full the network of an IPAMClaim is: what nobody needs is in the way there."""

from __future__ import annotations

from functools import partial

from ....findings.check import View
from ....store.indexes.networks import NETWORK
from ....store.kinds.ipam_claim import IPAMClaim
from ....store.kinds.network_attachment_definition import NetworkAttachmentDefinition, pool_of
from ....store.kinds.pod import Pod
from ....store.record import UnreadableFactError


def utilisation(view: View, ruler: NetworkAttachmentDefinition | None, attachments: frozenset[str]) -> float:
    """The share of the fullest subnet that claims and pods hold, 0 to 1; the pods by these NADs (`namespace/name`),
    which are all of the network. Raises UnreadableFactError where a pod's addresses can't be read.
    """
    if ruler is None:
        return 0.0
    # Thousands of claims may be left over in one network of tens of thousands of pods.
    share = view.derived(NETWORK, ruler.network, partial(_share, view, ruler, attachments))
    if isinstance(share, UnreadableFactError):
        raise share.with_traceback(None)
    return share


def _share(view: View, ruler: NetworkAttachmentDefinition, attachments: frozenset[str]) -> float | UnreadableFactError:
    pool, members = pool_of(ruler), view.sharing(NETWORK, ruler.network)
    numbers: set[int] = set()
    try:
        for each in members:
            if isinstance(each, IPAMClaim):
                numbers.update(each.numbers)
            elif isinstance(each, Pod):
                given = zip(each.addresses, each.numbers, strict=True)
                numbers.update(number for (attachment, _, _), number in given if attachment in attachments)
    except UnreadableFactError as error:
        return error
    return pool.utilisation(pool.used(numbers))


def percent(share: float) -> str:
    """Rounded down, so that 100 % is full."""
    return f"{int(share * 100)} %"
