"""A claim's addresses: outside the pool, held twice, other than the pod's (ipamclaims C-14 to C-16)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from ...findings import Finding, Severity, Since
from ...model.indexes.networks import ADDRESS, address
from ...model.kinds.ipam_claim import IPAMClaim
from ...model.kinds.network_attachment_definition import pool_of
from ...model.kinds.pod import Pod
from ...model.pool import Place
from .situation import Moment, Situation

__all__ = ["duplicate_ip", "family_incomplete", "ip_drift", "ip_excluded", "ip_outside_pool", "prefix_mismatch"]

_POISON = {
    Place.OUTSIDE: "is in no subnet",
    Place.EDGE: "is a network or broadcast address",
    Place.BEYOND: "is past the part of the subnet that is given out",
    Place.NO_FAMILY: "is of a family that the network has no subnet of",
    Place.UNREADABLE: "is no address",
}


def ip_outside_pool(it: Situation) -> Finding | None:
    """C-16, "poison": what makes the network's control plane fail when it starts the next time."""
    places = _places(it)
    wrong = [(ip, _POISON[place]) for ip, place in places if place in _POISON]
    if wrong and it.ruler:
        subnets = ", ".join(it.ruler.subnets)
        what = "; ".join(f"{ip} {why}" for ip, why in wrong)
        return it.finding(
            "IpOutsidePool",
            Severity.CRITICAL,
            f"{what} of network {it.claim.network} ({subnets}): its control plane fails at its next start",
            subnets=subnets,
        )
    twice = _two_in_one_subnet(it) if places else []
    if not twice:
        return None
    first_taken = any(other is not it.claim for other in it.view.sharing(ADDRESS, address(it.claim.network, twice[0])))
    return it.finding(
        "IpOutsidePool",
        Severity.WARNING if first_taken else Severity.CRITICAL,
        f"{' and '.join(twice)} are of one subnet of network {it.claim.network}, which takes one of them only",
    )


def ip_excluded(it: Situation) -> Finding | None:
    """C-16, sub-code IpExcluded."""
    held = [ip for ip, place in _places(it) if place is Place.EXCLUDED]
    if not held:
        return None
    what = f"network {it.claim.network} excludes {', '.join(held)} or keeps it for itself"
    return it.finding("IpExcluded", Severity.WARNING, what)


def _places(it: Situation) -> list[tuple[str, Place]]:
    """Where each address stands; nothing is said of a network that claims do not count in."""
    if it.ruler is None or not it.claim.ips:
        return []
    pool = pool_of(it.ruler)
    return [(ip, pool.place(ip)) for ip in it.claim.ips]


def _two_in_one_subnet(it: Situation) -> list[str]:
    """OVN-Kubernetes allows one subnet per family, so two of one family are of one subnet."""
    for family in (":" in host for host in it.claim.hosts):
        same = [host for host in it.claim.hosts if (":" in host) is family]
        if len(same) > 1:
            return same
    return []


def duplicate_ip(it: Situation) -> Finding | None:
    """C-14: another claim, or a pod that is not of the claim's VM, holds an address of it in its network."""
    claim = it.claim
    clashing = {ip: list(_others(it, ip)) for ip in claim.hosts if claim.network}
    ips = sorted(ip for ip, others in clashing.items() if others)
    if not ips:
        return None
    by_ref = {holder.ref: holder for ip in ips for holder in clashing[ip]}
    holders = [by_ref[ref] for ref in sorted(by_ref)]
    live = any(not _foreign(claim, pod) for pod in it.users) or any(isinstance(holder, Pod) for holder in holders)
    return it.finding(
        "DuplicateIP",
        Severity.CRITICAL if live else Severity.WARNING,
        f"{', '.join(ips)} of network {claim.network} {'are' if len(ips) > 1 else 'is'} also held by "
        + ", ".join(sorted(str(holder.ref) for holder in holders)),
        _last_given(claim, holders),
        related=[holder.ref for holder in holders],
        group=blake2b(address(claim.network, ips[0]).encode(), digest_size=4).hexdigest(),
        duplicates=ips,
    )


def _others(it: Situation, ip: str) -> Iterator[IPAMClaim | Pod]:
    for other in it.view.sharing(ADDRESS, address(it.claim.network, ip)):
        if isinstance(other, IPAMClaim | Pod) and _foreign(it.claim, other):
            yield other


def _foreign(claim: IPAMClaim, other: IPAMClaim | Pod) -> bool:
    """Whether another holder of the claim's address is not this claim and not a pod of its VM."""
    if isinstance(other, Pod):
        ours = other.namespace == claim.namespace and other.domain and other.domain in claim.vms
        return not ours and f"{claim.namespace}/{claim.name}" not in other.claims
    return other is not claim


def _last_given(claim: IPAMClaim, holders: Iterable[IPAMClaim | Pod]) -> Moment:
    """When the last of the claims got the address, or else the pod that has it, where all of them tell."""
    times = [claim.allocated, *(holder.allocated for holder in holders if isinstance(holder, IPAMClaim))]
    if len(times) == 1:
        times += [holder.created for holder in holders if isinstance(holder, Pod)]
    known = [time for time in times if time is not None]
    return (max(known), Since.CONDITION) if len(known) == len(times) else (None, Since.FIRST_SEEN)


def ip_drift(it: Situation) -> Finding | None:
    """C-15: a pod that refers to the claim has other addresses. One without any yet is no evidence."""
    for pod, given in _given(it):
        hosts = {host for host, _ in given}
        if hosts != set(it.claim.hosts):
            what = (
                f"{pod.ref} has {', '.join(sorted(hosts))}: it moves to {', '.join(it.claim.hosts)} at its next start"
            )
            return it.finding("IpDrift", Severity.CRITICAL, what, (pod.created, Since.CREATION), related=[pod.ref])
    return None


def prefix_mismatch(it: Situation) -> Finding | None:
    """C-15, sub-code PrefixMismatch."""
    lengths = dict(zip(it.claim.hosts, it.claim.prefixes, strict=True))
    for pod, given in _given(it):
        other = [(host, length) for host, length in given if lengths.get(host, length) != length]
        if other:
            host, length = other[0]
            what = f"{pod.ref} has {host}/{length}, and the claim /{lengths[host]}"
            return it.finding(
                "PrefixMismatch", Severity.WARNING, what, (pod.created, Since.CREATION), related=[pod.ref]
            )
    return None


def _given(it: Situation) -> Iterator[tuple[Pod, list[tuple[str, int]]]]:
    """(host, prefix length) that the claim's network gave to each pod that refers to the claim."""
    keys = {f"{nad.namespace}/{nad.name}" for nad in it.nads}
    own = f"{it.claim.namespace}/{it.claim.name}"
    for pod in it.users if it.claim.hosts else ():
        given = [(host, length) for nad, host, length in pod.addresses if nad in keys]
        if own in pod.claims and given:
            yield pod, given


def family_incomplete(it: Situation) -> Finding | None:
    """C-15: OVN-Kubernetes then gives the pod that family alone, so claim and pod agree."""
    if it.ruler is None or not it.claim.hosts:
        return None
    offered = {":" in subnet for subnet in it.ruler.subnets}
    held = {":" in host for host in it.claim.hosts}
    if len(offered) < 2 or held >= offered:
        return None
    missing = "IPv6" if True not in held else "IPv4"
    return it.finding(
        "FamilyIncomplete",
        Severity.WARNING,
        f"network {it.claim.network} has {missing} too, and the claim holds none of it",
    )
