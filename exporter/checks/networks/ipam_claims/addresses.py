"""An IPAMClaim's addresses: outside the pool, held twice, other than the pod's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from ....domain.acts import NOTHING_FORBIDDEN, acts_of
from ....facts.addresses import host as canonical
from ....facts.addresses import number
from ....facts.naming import named
from ....facts.pool import AddressPlace
from ....facts.record import UnseenError
from ....findings.advice import filled
from ....findings.finding import Finding, Since
from ....findings.partial import known
from ....findings.severity import Severity
from ....store.indexes.networks import address
from ....store.kinds.ipam_claim import IPAMClaim
from ....store.kinds.network_attachment_definition import pool_of
from ....store.kinds.pod import GIVEN, Pod
from .._address_holders import described, withheld_by
from .context import REASONS, TEXTS, ClaimContext, Moment

# The variants of the message, by where a network can't allocate an address.
_UNALLOCATABLE = {
    AddressPlace.OUTSIDE: "outside",
    AddressPlace.EDGE: "edge",
    AddressPlace.BEYOND: "beyond",
    AddressPlace.NO_FAMILY: "no_family",
    AddressPlace.UNREADABLE: "unreadable",
}


def ip_outside_pool(ctx: ClaimContext) -> Finding | None:
    """What the control plane cannot allocate again when it starts next, and fails over."""
    places, network = ctx.places, ctx.claim.network
    wrong = {ip: _UNALLOCATABLE[place] for ip, place in places if place in _UNALLOCATABLE}
    if wrong and ctx.ruler:
        subnets, variants = ", ".join(ctx.ruler.subnets), set(wrong.values())
        variant = variants.pop() if len(variants) == 1 else ""
        what = TEXTS.message("IpOutsidePool", variant, addresses=", ".join(wrong), network=network, subnets=subnets)
        return _unallocatable(ctx, Severity.CRITICAL, what, subnets=subnets)
    at, twice = _two_in_one_subnet(ctx)
    if not twice:
        return None
    # The addresses are allocated one after the other, and one that is taken ends that without an error.
    taken = any(place is AddressPlace.EXCLUDED for _, place in places[:at]) or any(
        any(_others(ctx, ip)) for ip in ctx.claim.hosts[:at]
    )
    variant = "two_taken" if taken else "two"
    what = TEXTS.message("IpOutsidePool", variant, addresses=" and ".join(twice), network=network)
    return _unallocatable(ctx, Severity.WARNING if taken else Severity.CRITICAL, what)


def _unallocatable(ctx: ClaimContext, severity: Severity, what: str, **evidence: Any) -> Finding:
    """A stopped VM must not be started with it; one that runs keeps its addresses until it stops."""
    stopped = ctx.vm is not None and not ctx.runs
    variant = "stopped" if stopped else "vm"
    step = TEXTS.next_if_short("IpOutsidePool", variant, vm=ctx.owner.ref.name) if ctx.vm or ctx.vmi else ""
    made = ctx.finding("IpOutsidePool", severity, what, next_step=step, **evidence)
    return made if stopped else msgspec.structs.replace(made, forbids=NOTHING_FORBIDDEN)


def fails_the_control_plane(ctx: ClaimContext) -> Finding | None:
    """Reported beside another reason, since it is not only the VM's trouble."""
    found = ip_outside_pool(ctx)
    return found if found is not None and found.severity is Severity.CRITICAL else None


def ip_excluded(ctx: ClaimContext) -> Finding | None:
    """A reserved address is for a VM that requests it; whether a stopped one does is not known."""
    places = ctx.places
    requested = requested_by(ctx) if any(place is AddressPlace.RESERVED for _, place in places) else None
    held = [
        ip
        for ip, place in places
        if place is AddressPlace.EXCLUDED
        or (place is AddressPlace.RESERVED and requested is not None and canonical(ip) not in requested)
    ]
    if not held:
        return None
    kept = {ip: withheld_by(ctx.ruler, number(ip.partition("/")[0])) for ip in held} if ctx.ruler is not None else {}
    addresses = ", ".join(f"{ip} ({by})" for ip, by in kept.items())
    what = TEXTS.message("IpExcluded", network=ctx.claim.network, addresses=addresses)
    return ctx.finding("IpExcluded", Severity.WARNING, what, withheldBy=kept)


def requested_by(ctx: ClaimContext) -> set[str] | None:
    """The addresses that the running VM requests for the claim's interface."""
    if ctx.vmi is None:
        return None
    networks = {network for network, _ in ctx.interfaces}
    return {canonical(text) or text for network, text in ctx.vmi.requested if network in networks}


def _two_in_one_subnet(ctx: ClaimContext) -> tuple[int, list[str]]:
    """The first two addresses that are in one subnet, after the position of the second one; 0 where there are none."""
    first: dict[int, str] = {}
    if ctx.ruler is None or len(ctx.claim.hosts) < 2:
        return 0, []
    pool = pool_of(ctx.ruler)
    for at, host in enumerate(ctx.claim.hosts):
        subnet = pool.locate(number(host))[1]
        if subnet in first:
            return at, [first[subnet], host]
        first[subnet] = host
    return 0, []


def duplicate_ip(ctx: ClaimContext) -> Finding | None:
    """Another claim, or a pod that is not of the claim's VM, holds an address of it in its network."""
    claim = ctx.claim
    found = {ip: known(_others(ctx, ip)) for ip in claim.hosts if claim.network}
    clashing = {ip: others for ip, (others, _) in found.items()}
    ips = sorted(ip for ip, others in clashing.items() if others)
    if not ips:
        if not all(whole for _, whole in found.values()):
            raise UnseenError("some of those that may hold its addresses can't be seen")
        return None
    by_ref = {holder.ref: holder for ip in ips for holder in clashing[ip]}
    holders = [by_ref[ref] for ref in sorted(by_ref)]
    own = [pod for pod in ctx.known_users or () if not _foreign(ctx, pod)]  # the least that is known
    all_seen = ctx.known_users is not None and all(whole for _, whole in found.values())
    all_seen = all_seen and not any(pod.lacks(GIVEN) for pod in own)
    live = bool(own) or any(isinstance(holder, Pod) for holder in holders)
    critical = _most_running(ctx, ips) > 1 or (live and not all_seen)
    giving = _giving_way(ctx, holders)
    stopped = ctx.known_users is not None and not own
    made = ctx.finding(
        "DuplicateIP",
        Severity.CRITICAL if critical else Severity.WARNING,
        TEXTS.message(
            "DuplicateIP", addresses=", ".join(ips), network=claim.network, holders=named(described(holders))
        ),
        _last_given(claim, holders),
        next_step=_way(giving) if giving else _while_stopped(holders) if stopped else "",
        related=[holder.ref for holder in holders],
        commands=_commands(giving, ctx.claim),
        keeper=giving.keeper.ref.path if giving else "",
        keeperWhy=giving.why if giving else "",
        address=ips[0],
        group=blake2b(address(claim.network, ips[0]).encode(), digest_size=4).hexdigest(),
        duplicates=ips,
        holders=described(holders),
    )
    if (giving.claim is ctx.claim and giving.runs) if giving else not stopped:
        return made
    return msgspec.structs.replace(made, does=())


def _most_running(ctx: ClaimContext, ips: Iterable[str]) -> int:
    """How many run with one of the addresses: each VM counts once, with all its pods."""

    def whose(pod: Pod) -> tuple[str, str, str]:
        if not _foreign(ctx, pod):
            return "", "", ""
        return pod.namespace, pod.domain, "" if pod.domain else pod.name

    return max(len({whose(each) for each in known(ctx.at(ip))[0] if isinstance(each, Pod)}) for ip in ips)


class _GivingWay(NamedTuple):
    """Which of two IPAMClaims gives the address up, and whether its pod has it; `why` is why the other one keeps it."""

    claim: IPAMClaim
    keeper: IPAMClaim
    runs: bool
    why: str


def _giving_way(ctx: ClaimContext, holders: Iterable[IPAMClaim | Pod]) -> _GivingWay | None:
    """The one without a pod that has the address, or else the younger one; None where that is not known, or there are
    more than two. A pod without the address counts for neither, so that both findings say the same.
    """
    claims = [each for each in holders if isinstance(each, IPAMClaim)]
    pods = [each for each in holders if isinstance(each, Pod)]
    own = ctx.claim
    if len(claims) != 1 or ctx.known_users is None or not (ctx.owner.ref.name and claims[0].vms[0]):
        return None
    (other,) = claims
    if not all(pod.namespace == other.namespace and pod.domain in other.vms for pod in pods):
        return None
    runs = any(isinstance(each, Pod) and not _foreign(ctx, each) for ip in own.hosts for each in ctx.at(ip))
    if runs != bool(pods):
        return _GivingWay(*((other, own) if runs else (own, other)), runs=False, why="its pod has the address")
    if own.created is None or other.created is None or own.created == other.created:
        return None
    first = (other, own) if own.created < other.created else (own, other)
    return _GivingWay(*first, runs=runs, why="it is older")


def _way(giving: _GivingWay) -> str:
    vm, step = f"{giving.claim.namespace}/{giving.claim.vms[0]}", "running" if giving.runs else "idle"
    return TEXTS.next("DuplicateIP", step, vm=vm)


def _while_stopped(holders: list[IPAMClaim | Pod]) -> str:
    """The next step where its own VM is stopped, and it is not known who gives way: a pod that is no VM's can end."""
    if any(isinstance(each, IPAMClaim) or each.domain for each in holders):
        return TEXTS.next("DuplicateIP", "stopped")
    named = TEXTS.next_if_short("DuplicateIP", "plain", pod=holders[0].ref) if len(holders) == 1 else ""
    return named or TEXTS.next("DuplicateIP", "plain", pod="each pod with the address")


def _commands(giving: _GivingWay | None, own: IPAMClaim) -> tuple[str, ...]:
    """Those of the reason about the IPAMClaim that gives the address up; its own VM is stopped, and no other."""
    claim, stops = (giving.claim, giving.runs and giving.claim is own) if giving else (own, False)
    values = {"NAMESPACE": claim.namespace, "NAME": claim.name, "VMNAME": claim.vms[0], "ADDRESS": own.hosts[0]}
    return tuple(filled(each, values) for each in REASONS["DuplicateIP"].commands if stops or not acts_of(each))


def _others(ctx: ClaimContext, ip: str) -> Iterator[IPAMClaim | Pod]:
    for other in ctx.at(ip):
        if isinstance(other, IPAMClaim | Pod) and _foreign(ctx, other):
            yield other


def _foreign(ctx: ClaimContext, other: IPAMClaim | Pod) -> bool:
    """Whether another holder of the claim's address is not this claim and not a pod of its VM."""
    if isinstance(other, Pod):
        return not ctx.own(other) and not ctx.refers(other)
    return other is not ctx.claim


def _last_given(claim: IPAMClaim, holders: Iterable[IPAMClaim | Pod]) -> Moment:
    """When the last of the claims, or else the pod, got the address, where all of them say."""
    times = [claim.allocated, *(holder.allocated for holder in holders if isinstance(holder, IPAMClaim))]
    if len(times) == 1:
        times += [holder.created for holder in holders if isinstance(holder, Pod)]
    known = [time for time in times if time is not None]
    return (max(known), Since.CONDITION) if len(known) == len(times) else (None, Since.FIRST_SEEN)


def ip_drift(ctx: ClaimContext) -> Finding | None:
    """A pod that refers to the claim has other addresses. One without any yet proves nothing."""
    for pod, given in _given(ctx):
        hosts, held = {host for host, _ in given}, set(ctx.claim.hosts)
        if hosts == held:
            continue
        shared = len(ctx.attachments(pod)) < _attached(ctx, pod)  # by an attachment of another claim
        if not (shared and held <= hosts):
            what = TEXTS.message("IpDrift", pod=pod.ref, addresses=", ".join(sorted(hosts)), claimed=ctx.addresses)
            return ctx.finding("IpDrift", Severity.CRITICAL, what, _given_since(ctx, pod), related=[pod.ref])
    return None


def _given_since(ctx: ClaimContext, pod: Pod) -> Moment:
    """Since the pod is there, or the claim got its addresses: whichever was later."""
    allocated = ctx.claim.allocated
    if allocated is not None and pod.created is not None and allocated > pod.created:
        return allocated, Since.CONDITION
    return pod.created, Since.CREATION


def prefix_mismatch(ctx: ClaimContext) -> Finding | None:
    lengths = dict(zip(ctx.claim.hosts, ctx.claim.prefixes, strict=True))
    for pod, given in _given(ctx):
        other = [(host, length) for host, length in given if lengths.get(host, length) != length]
        if other:
            host, length = other[0]
            what = TEXTS.message("PrefixMismatch", pod=pod.ref, host=host, length=length, claimed=lengths[host])
            return ctx.finding("PrefixMismatch", Severity.WARNING, what, _given_since(ctx, pod), related=[pod.ref])
    return None


def _given(ctx: ClaimContext) -> Iterator[tuple[Pod, list[tuple[str, int]]]]:
    """(host, prefix length) that the claim's network gave to the attachments of each pod that refer to the claim."""
    networks = ctx.network.keys
    for pod in ctx.holders if ctx.claim.hosts else ():
        if not ctx.refers(pod):
            continue
        keys = networks.intersection(ctx.attachments(pod))
        selected = {key for key, _ in pod.selections}
        given = [
            (host, length)
            for nad, host, length in pod.addresses
            if (nad in keys if keys else nad in networks and nad not in selected)
        ]
        if given:
            yield pod, given


def _attached(ctx: ClaimContext, pod: Pod) -> int:
    """How many attachments the pod has to the NADs of those that refer to the claim: addresses are kept by NAD."""
    keys = set(ctx.attachments(pod))
    return sum(key in keys for key, _ in pod.selections)


def family_incomplete(ctx: ClaimContext) -> Finding | None:
    """OVN-Kubernetes then gives the pod that family alone, so claim and pod agree."""
    if ctx.ruler is None or not ctx.claim.hosts:
        return None
    offered = {":" in subnet for subnet in ctx.ruler.subnets}
    held = {":" in host for host in ctx.claim.hosts}
    if len(offered) < 2 or held >= offered:
        return None
    missing = "IPv6" if True not in held else "IPv4"
    return ctx.finding(
        "FamilyIncomplete",
        Severity.WARNING,
        TEXTS.message("FamilyIncomplete", network=ctx.claim.network, family=missing),
    )
