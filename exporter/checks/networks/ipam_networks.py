"""Networks of OVN-Kubernetes whose NADs conflict, that no longer allow persistent IPs, or that run out of addresses.

A network is known by the `name` inside the configuration of its NADs, and several namespaces may have a NAD of it.
They must agree: where they do not, pods on the rejected NADs hang, and the control plane fails at its next start. No
object says which of them is in effect; the one that has a network ID most likely is.

A pod gets an address of every subnet of a network, so the fullest subnet decides how full the network is. The
addresses of IPAMClaims and of pods are counted, each once.

Not seen here: addresses that OVN-Kubernetes holds in memory alone, so that fewer may be free than counted; pod events
that report an exhausted pool; whether its flag for persistent IPs is on; networks whose subnets are not CIDRs;
whether a NAD without an MTU, which then has OVN-Kubernetes' own default, conflicts with one that has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from ...facts.naming import NAMED, counted, named
from ...facts.pool import Pool
from ...facts.record import Ref
from ...findings.advice import with_commands
from ...findings.causes import Cause
from ...findings.check import PER_NETWORK, Check, View
from ...findings.finding import Finding
from ...findings.pages import Texts, command, reasons_of
from ...findings.severity import Severity
from ...store.indexes.networks import NAD, NETWORK, UNKNOWN_HOLDER, VM, unknown_holders
from ...store.kinds.ipam_claim import IPAMClaim
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition, differing, pool_of, ruling
from ...store.kinds.pod import GIVEN, Pod
from ...store.kinds.user_defined_networks import ClusterUserDefinedNetwork, UserDefinedNetwork
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance

__all__ = ["CHECK", "FULL"]

_REASONS, _TEXTS = reasons_of("ipam_networks"), Texts("ipam_networks")
FULL, _NEARLY = 0.95, 0.80  # of the fullest subnet


class _Members:
    """What belongs to one network, of which there may be tens of thousands."""

    def __init__(self, network: str, records: Iterable[object]) -> None:
        records = tuple(records)
        self.network = network
        self.claims = [record for record in records if isinstance(record, IPAMClaim)]
        self._pods = [record for record in records if isinstance(record, Pod)]

    def addresses(self, nads: Iterable[NetworkAttachmentDefinition]) -> dict[int, str]:
        """The addresses that claims and pods hold of the network, each once, with the namespace of a holder: a claim's
        rather than a pod's, and of several the first by name.
        """
        attachments = {f"{each.namespace}/{each.name}" for each in nads}
        of_pods: dict[int, str] = {}
        for each in self._pods:
            for (attachment, _, _), number in zip(each.known_addresses, each.numbers, strict=True):
                if attachment in attachments and each.namespace <= of_pods.get(number, each.namespace):
                    of_pods[number] = each.namespace
        of_claims: dict[int, str] = {}
        for claim in self.claims:
            for number in claim.numbers:
                if claim.namespace <= of_claims.get(number, claim.namespace):
                    of_claims[number] = claim.namespace
        return of_pods | of_claims


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
    yield from _pressure(view, subject, ruler, nads, members)


def _conflicts(ruler: NetworkAttachmentDefinition, nads: list[NetworkAttachmentDefinition]) -> Iterator[Finding]:
    """Once for each NAD that conflicts with the one that is most likely in effect."""
    for each in nads:
        keys = differing(ruler.signature, each.signature)
        if not keys:
            continue
        variant = "both" if each.accepted else "loses" if ruler.accepted else "either"
        said = {"other": f"{ruler.namespace}/{ruler.name}", "differs": ", ".join(keys)}
        found = Finding(
            reason="NetworkConfigConflict",
            severity=Severity.CRITICAL,
            subject=each.ref,
            related=(ruler.ref,),
            network=each.network,
            message=_TEXTS.message("NetworkConfigConflict", variant, network=each.network, **said),
            evidence={"differs": list(keys), "accepted": each.accepted, "otherAccepted": ruler.accepted},
        )
        # OVN-Kubernetes renders some NADs, and of what keeps addresses it is not known which of two is meant.
        adopts = variant == "loses" and "allowPersistentIPs" not in keys and not each.made_by
        step = _TEXTS.next_if_short("NetworkConfigConflict", "adopt", **said) if adopts else ""
        yield _edited(found, step) if step else found


def _edited(found: Finding, step: str) -> Finding:
    """It is clear what the NAD gets, so a command opens it."""
    commands = (*_REASONS[found.reason].commands, command("edit_nad"))
    return with_commands(msgspec.structs.replace(found, next=step), commands)


def _without_addresses(subject: Ref, ruler: NetworkAttachmentDefinition) -> Iterator[Finding]:
    empty = [capacity.subnet for capacity in pool_of(ruler).capacity() if not capacity.dynamic]
    if empty:
        yield Finding(
            reason="NetworkWithoutAddresses",
            severity=Severity.WARNING,
            subject=subject,
            related=_extra_keys(subject, ruler),
            network=ruler.network,
            message=_TEXTS.message("NetworkWithoutAddresses", network=ruler.network, subnets=named(empty)),
            evidence={"subnets": empty},
        )


def _disabled(subject: Ref, nads: list[NetworkAttachmentDefinition], members: _Members) -> Iterator[Finding]:
    """A NAD that OVN-Kubernetes rejects does not count: what it accepted before may still be in effect."""
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
            related=tuple(each.ref for each in accepted[:NAMED] if each.ref != subject),
            network=members.network,
            message=_TEXTS.message(
                "PersistenceDisabled", network=members.network, claims=counted(len(claims), "IPAMClaim")
            ),
            evidence={"claims": len(claims), "first": claims[:NAMED]},
        )


def _starved(view: View, claim: IPAMClaim) -> bool:
    """Whether it got no address and its VM waits for one: of a stopped VM the condition says nothing of now."""
    if claim.refused != "SubnetExhausted":
        return False
    vmi = view.named(VirtualMachineInstance, claim.namespace, claim.vms[0])
    return vmi is not None and not vmi.final


def _pressure(
    view: View,
    subject: Ref,
    ruler: NetworkAttachmentDefinition,
    nads: list[NetworkAttachmentDefinition],
    members: _Members,
) -> Iterator[Finding]:
    """Raises UnreadableFactError where only the addresses of pods that can't be read decide."""
    pool = pool_of(ruler)
    starved = sorted(f"{claim.namespace}/{claim.name}" for claim in members.claims if _starved(view, claim))
    held = members.addresses(nads)
    used = pool.used(held)
    share = pool.utilisation(used)
    if share < _NEARLY and not starved:
        unknown = unknown_holders(view.sharing, nads)
        if unknown and pool.utilisation([count + len(unknown) for count in used]) >= _NEARLY:
            unknown[0].known(*GIVEN)
        return
    by_namespace = _by_namespace(held)
    yield Finding(
        reason="PoolPressure",
        severity=Severity.CRITICAL if share >= FULL or starved else Severity.WARNING,
        subject=subject,
        related=_extra_keys(subject, ruler),
        network=members.network,
        message=_TEXTS.message(
            "PoolPressure",
            "refused" if starved else "",
            share=_percent(share),
            free=pool.free(used),
            namespaces=named([f"{namespace} ({count})" for namespace, count in by_namespace.items()], most=3),
            claims=counted(len(starved), "IPAMClaim"),
        ),
        next=_TEXTS.next("PoolPressure", "primary") if ruler.role == "primary" else "",
        evidence={"subnets": _fills(pool, used), "namespaces": by_namespace}
        | ({"refused": starved[:NAMED]} if starved else {}),
    )


def _by_namespace(held: Mapping[int, str]) -> dict[str, int]:
    """How many addresses each namespace holds, the most first."""
    counted = Counter(held.values())
    return {name: counted[name] for name in sorted(counted, key=lambda name: (-counted[name], name))}


def _fills(pool: Pool, used: tuple[int, ...]) -> dict[str, str]:
    """The fullest first."""
    found = sorted(zip(pool.capacity(), used, strict=True), key=lambda each: -each[1] / max(each[0].dynamic, 1))
    return {c.subnet: f"{count} of {c.dynamic}" for c, count in found}


def _percent(share: float) -> str:
    """Rounded down, so that 100 % is full."""
    return f"{int(share * 100)} %"


def _extra_keys(subject: Ref, ruler: NetworkAttachmentDefinition) -> tuple[Ref, ...]:
    return () if subject == ruler.ref else (ruler.ref,)


CHECK = Check(
    id="ipam_networks",
    title="Networks whose NADs conflict, without persistent IPs, or short of addresses",
    reads=(
        NetworkAttachmentDefinition.KIND,
        UserDefinedNetwork.KIND,
        ClusterUserDefinedNetwork.KIND,
        IPAMClaim.KIND,
        Pod.KIND,
        VirtualMachineInstance.KIND,
    ),
    scope=PER_NETWORK,
    looks_up=(VM, UNKNOWN_HOLDER),
    cause=Cause.NETWORK,
    reasons=_REASONS,
    find=find,
    fields_read=(Pod.KIND, VirtualMachineInstance.KIND),
    requires=(IPAMClaim.KIND, NetworkAttachmentDefinition.KIND),
)
