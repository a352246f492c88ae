"""Networks of OVN-Kubernetes that are at odds with themselves, have stopped to keep addresses, or run out of them.

A network is known by the name inside the configuration of its NADs, and several namespaces may define one. They
must agree: where they do not, pods of the loser hang, and at its next start the control plane may choose otherwise or
not come up at all. Which of them rules can't be read off; the one that OVN-Kubernetes gave a number most likely does.

A pod takes an address of every subnet of a network, so the fullest subnet decides how full the network is. Counted are
the addresses of claims and of pods, each once.

Not seen here: addresses that OVN-Kubernetes holds in memory alone, so that less may be free than is counted; pod events
that tell of an exhausted pool; whether its flag for persistent addresses is on; networks whose subnets are no CIDRs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from ..findings import Finding, Severity
from ..model.indexes.networks import NAD, NETWORK
from ..model.kinds import (
    cluster_user_defined_network,
    ipam_claim,
    network_attachment_definition,
    pod,
    user_defined_network,
)
from ..model.kinds.cluster_user_defined_network import ClusterUserDefinedNetwork
from ..model.kinds.ipam_claim import IPAMClaim
from ..model.kinds.network_attachment_definition import NetworkAttachmentDefinition, differing, pool_of, ruling
from ..model.kinds.pod import Pod
from ..model.kinds.user_defined_network import UserDefinedNetwork
from ..model.pool import Pool
from ..model.record import Ref
from .base import Check, Family, Reason, View
from .scopes import PER_NETWORK

__all__ = ["CHECK"]

_NAMED = 10  # claims and NADs that evidence names
_FULL, _NEARLY = 0.95, 0.80  # of the fullest subnet (ipamclaims C-17)

_CONFLICT = Family(
    "kubevirt_network_config_conflict",
    "A NAD of a network does not agree with another one of the same network.",
    ("namespace", "name", "network", "reason"),
)
_DISABLED = Family(
    "kubevirt_network_persistence_disabled",
    "A network no longer keeps the addresses that claims of it hold.",
    ("namespace", "name", "network", "reason"),
)
_PRESSURE = Family(
    "kubevirt_network_pool_pressure",
    "The addresses of a network run out.",
    ("namespace", "name", "network", "severity", "reason"),
)
_WITHOUT = Family(
    "kubevirt_network_without_addresses",
    "A subnet of a network has no address to give out.",
    ("namespace", "name", "network", "reason"),
)

_REASONS = {
    "NetworkConfigConflict": Reason(
        (Severity.CRITICAL,),
        "Two NADs of one network differ: pods of one hang, and the control plane may not start again.",
        _CONFLICT,
        "C-08",
    ),
    "PersistenceDisabled": Reason(
        (Severity.CRITICAL,),
        "Claims hold addresses of a network that keeps none: those of stopped VMs are free for anybody.",
        _DISABLED,
        "C-07",
    ),
    "PoolPressure": Reason(
        (Severity.WARNING, Severity.CRITICAL),
        "80 % of a subnet's addresses are given out; critical from 95 %, or where a claim got none.",
        _PRESSURE,
        "C-17",
    ),
    "NetworkWithoutAddresses": Reason(
        (Severity.WARNING,),
        "A subnet has no address to give out: it is too small, or all of it is excluded or reserved.",
        _WITHOUT,
        "B.5",
    ),
}


class _Members:
    """What belongs to one network, of which there may be tens of thousands."""

    def __init__(self, network: str, records: Iterable[object]) -> None:
        records = tuple(records)
        self.network = network
        self.claims = [record for record in records if isinstance(record, IPAMClaim)]
        self._pods = [record for record in records if isinstance(record, Pod)]

    def addresses(self, nads: Iterable[NetworkAttachmentDefinition]) -> set[int]:
        """The addresses that claims and pods hold of the network, each once (ipamclaims B.5)."""
        attachments = {f"{each.namespace}/{each.name}" for each in nads}
        held = set(chain.from_iterable([claim.numbers for claim in self.claims]))
        for each in self._pods:
            for (attachment, _, _), number in zip(each.addresses, each.numbers, strict=True):
                if attachment in attachments:
                    held.add(number)
        return held


def find(view: View) -> Iterator[Finding]:
    found = list(view.sharing(NAD, view.partition))
    nads = [each for each in found if isinstance(each, NetworkAttachmentDefinition) and each.shared]
    ruler = ruling(nads)
    if ruler is None:
        return
    makers = [each for each in found if isinstance(each, UserDefinedNetwork | ClusterUserDefinedNetwork)]
    subject = makers[0].ref if makers else ruler.ref
    members = _Members(view.partition, view.sharing(NETWORK, view.partition))
    yield from _conflicts(ruler, nads)
    yield from _without_addresses(subject, ruler)
    yield from _disabled(subject, nads, members)
    yield from _pressure(subject, ruler, nads, members)


def _conflicts(ruler: NetworkAttachmentDefinition, nads: list[NetworkAttachmentDefinition]) -> Iterator[Finding]:
    """C-08, once for each NAD that does not agree with the ruling one."""
    for each in nads:
        keys = differing(ruler.signature, each.signature)
        if keys:
            yield Finding(
                reason="NetworkConfigConflict",
                severity=Severity.CRITICAL,
                subject=each.ref,
                related=(ruler.ref,),
                network=each.network,
                message=f"it defines network {each.network} with another {', '.join(keys)} than {ruler.ref}; "
                + (_BOTH if each.accepted else _LOSES if ruler.accepted else _EITHER),
                evidence={"differs": list(keys), "accepted": each.accepted, "otherAccepted": ruler.accepted},
            )


_LOSES = "OVN-Kubernetes has not accepted it, and its pods hang"
_EITHER = "OVN-Kubernetes accepts one of them, and pods on the other hang"
_BOTH = "OVN-Kubernetes has accepted both at some time, and one of them will lose at its next start"


def _without_addresses(subject: Ref, ruler: NetworkAttachmentDefinition) -> Iterator[Finding]:
    empty = [capacity.subnet for capacity in pool_of(ruler).capacity() if not capacity.dynamic]
    if empty:
        yield Finding(
            reason="NetworkWithoutAddresses",
            severity=Severity.WARNING,
            subject=subject,
            related=_extra_keys(subject, ruler),
            network=ruler.network,
            message=f"{', '.join(empty)} of network {ruler.network} has no address to give out: no pod gets one",
            evidence={"subnets": empty},
        )


def _disabled(subject: Ref, nads: list[NetworkAttachmentDefinition], members: _Members) -> Iterator[Finding]:
    """C-07. What OVN-Kubernetes refuses does not count: what it accepted before may still rule."""
    standing = [each for each in nads if not each.rejected]
    accepted = [each for each in standing if each.accepted] or standing
    if not accepted or any(each.effective for each in accepted):
        return
    claims = sorted(f"{claim.namespace}/{claim.name}" for claim in members.claims if claim.hosts)
    if claims:
        yield Finding(
            reason="PersistenceDisabled",
            severity=Severity.CRITICAL,
            subject=subject,
            related=tuple(each.ref for each in accepted[:_NAMED] if each.ref != subject),
            network=members.network,
            message=f"network {members.network} keeps no addresses over restarts, and {len(claims)} "
            f"{'claims hold' if len(claims) > 1 else 'claim holds'} some: those of stopped VMs are free to take",
            evidence={"claims": len(claims), "first": claims[:_NAMED]},
        )


def _pressure(
    subject: Ref, ruler: NetworkAttachmentDefinition, nads: list[NetworkAttachmentDefinition], members: _Members
) -> Iterator[Finding]:
    """C-17."""
    pool = pool_of(ruler)
    starved = sorted(f"{c.namespace}/{c.name}" for c in members.claims if c.refused == "SubnetExhausted")
    used = pool.used(members.addresses(nads))
    share = pool.utilisation(used)
    if share < _NEARLY and not starved:
        return
    message = f"{_percent(share)} of the addresses are given out, {pool.free(used)} are left"
    if starved:
        message += f"; {len(starved)} {'claims' if len(starved) > 1 else 'claim'} got none"
    yield Finding(
        reason="PoolPressure",
        severity=Severity.CRITICAL if share >= _FULL or starved else Severity.WARNING,
        subject=subject,
        related=_extra_keys(subject, ruler),
        network=members.network,
        message=message,
        evidence={"subnets": _fills(pool, used)} | ({"refused": starved[:_NAMED]} if starved else {}),
    )


def _fills(pool: Pool, used: tuple[int, ...]) -> dict[str, str]:
    return {c.subnet: f"{count} of {c.dynamic}" for c, count in zip(pool.capacity(), used, strict=True)}


def _percent(share: float) -> str:
    """Rounded down, so that 100 % is full."""
    return f"{int(share * 100)} %"


def _extra_keys(subject: Ref, ruler: NetworkAttachmentDefinition) -> tuple[Ref, ...]:
    return () if subject == ruler.ref else (ruler.ref,)


CHECK = Check(
    id="ipam_networks",
    title="Networks at odds with themselves, or short of addresses",
    reads=(
        network_attachment_definition.KIND,
        user_defined_network.KIND,
        cluster_user_defined_network.KIND,
        ipam_claim.KIND,
        pod.KIND,
    ),
    scope=PER_NETWORK,
    reasons=_REASONS,
    find=find,
    about=(ipam_claim.KIND, network_attachment_definition.KIND),
)
