"""What the containers of a pod that a VMI is to come to say of how far it is."""

from __future__ import annotations

from itertools import chain
from operator import attrgetter
from sys import intern
from typing import NamedTuple

import msgspec
from msgspec import field

from ...facts.addresses import host, prefix
from ...facts.annotations import Faults, Note, read, text
from ...facts.nesting import decoded
from ...facts.placement import (
    ALONE,
    ANYWHERE,
    Neighbours,
    Placement,
    WirePlacement,
    WirePodAffinity,
    WireSpread,
    neighbours_of,
    placement_of,
)
from ...facts.quantity import Amounts, amounts_of, plus
from ...facts.record import Wire, WireTime, epoch
from ...facts.text_cache import TextMemo

# KubeVirt waits until these run, since they may get ready later, and until any other is ready (IsPodReady in
# pkg/controller of kubevirt/kubevirt).
_RUN = ("compute", "istio-proxy")
_LONGEST = 63  # characters of a container's name
_MESSAGE = 256
_GUEST = "compute"
INITIALIZES = "Initializes"  # no reason of a kubelet's
_BEHIND = "PodInitializing"  # the reason of a container that only waits for init containers


class _Running(Wire, frozen=True, gc=False):
    started_at: WireTime = None


class _Waiting(Wire, frozen=True, gc=False):
    reason: str | None = None
    message: str | None = None


class _State(Wire, frozen=True, gc=False):
    running: _Running | None = None
    waiting: _Waiting | None = None
    terminated: object = None


class _Status(Wire, frozen=True, gc=False):
    name: str | None = None
    ready: bool | None = None
    state: _State | None = None


class Containers(NamedTuple):
    """`started` is when the last of those that run did, `lagging` the first one that KubeVirt waits for: empty for
    none, None where that is not said. `waiting` are name, reason and message of the first one that waits to start, or
    of the init container that the others wait for, whose reason is INITIALIZES; empty for none.
    """

    started: float | None = None
    lagging: str | None = None
    waiting: tuple[str, ...] = ()


UNSAID = Containers()
_STATUSES = msgspec.json.Decoder(list[_Status | None] | None)


def containers_of(statuses: msgspec.Raw, initial: msgspec.Raw) -> Containers:
    """Of status.containerStatuses and initContainerStatuses as they are written. What is of another shape says
    nothing.
    """
    try:
        found, before = _read(statuses), _read(initial)
        running = [each.state.running for each in found if each.state and each.state.running]
        started = max(filter(None, (epoch(each.started_at) for each in running)), default=None)
        waits = [each for each in map(_waits, (*before, *found)) if each]
        own = (each for each in waits if each[1] != _BEHIND)
        waiting = next(chain(own, filter(None, map(_initializes, before)), waits), ())
    except (msgspec.DecodeError, ValueError):
        return UNSAID
    lagging = next((each for each in map(_lags, found) if each), "") if found else None
    return Containers(started, lagging, waiting)


def guest_ended(statuses: msgspec.Raw) -> bool:
    """Whether the container of the guest has ended, while others of its pod may still run."""
    written = bytes(statuses)
    if b'"terminated"' not in written:
        return False
    try:
        return any(each.name == _GUEST and each.state and each.state.terminated is not None for each in _read(statuses))
    except (msgspec.DecodeError, ValueError):
        return False


def _read(statuses: msgspec.Raw) -> list[_Status]:
    return [each for each in decoded(_STATUSES, bytes(statuses) or b"null") or () if each]


def _initializes(status: _Status) -> tuple[str, ...]:
    """Of an init container that runs: one that goes on beside the others gets ready, any other has to end first."""
    running = status.state is not None and status.state.running is not None
    return ((status.name or "")[:_LONGEST], INITIALIZES, "") if running and not status.ready else ()


def _waits(status: _Status) -> tuple[str, ...]:
    waiting = status.state.waiting if status.state else None
    if waiting is None:
        return ()
    return (status.name or "")[:_LONGEST], waiting.reason or "", (waiting.message or "")[:_MESSAGE]


def _lags(status: _Status) -> str:
    """Its name, where KubeVirt waits for it."""
    fine = status.state and status.state.running if status.name in _RUN else status.ready
    return "" if fine else (status.name or "")[:_LONGEST] or "without a name"


# What the annotations of a pod say of its networks: which it is attached to, which IPAMClaims it refers to, and which
# addresses it has.

_NETWORKS = "k8s.v1.cni.cncf.io/networks"
_DEFAULT_NETWORK = "v1.multus-cni.io/default-network"
_PRIMARY_CLAIM = "k8s.ovn.org/primary-udn-ipamclaim"
_POD_NETWORKS = "k8s.ovn.org/pod-networks"

GIVEN = (_POD_NETWORKS,)
"""The annotation that says which addresses a pod has."""

SELECTED = (_NETWORKS,)
"""The annotation that says which NADs a pod attaches to."""

REFERRED = (_NETWORKS, _DEFAULT_NETWORK, _PRIMARY_CLAIM)
"""The annotations that say which claims a pod refers to."""


class WireNetworks(Wire, frozen=True, gc=False):
    networks: Note = field(name=_NETWORKS, default=None)
    default_network: Note = field(name=_DEFAULT_NETWORK, default=None)
    primary_claim: Note = field(name=_PRIMARY_CLAIM, default=None)
    pod_networks: Note = field(name=_POD_NETWORKS, default=None)


class PodNetworks(NamedTuple):
    claims: tuple[str, ...]  # `namespace/name`
    selections: tuple[tuple[str, str], ...]  # (`namespace/name` of a NAD, claim or empty)
    addresses: tuple[tuple[str, str, int], ...]  # (`namespace/name` of a NAD, canonical address, prefix length or -1)


class _Selection(msgspec.Struct, frozen=True, gc=False):
    """One element of a network selection annotation."""

    name: str | None = None
    namespace: str | None = None
    claim: str | None = field(name="ipam-claim-reference", default=None)


class _PodNetwork(msgspec.Struct, frozen=True, gc=False):
    ip_addresses: list[str] | None = None
    ip_address: str | None = None


_SELECTIONS = msgspec.json.Decoder(list[_Selection | None])
_GIVEN = msgspec.json.Decoder(dict[str, _PodNetwork | None])


def networks_of(namespace: str, notes: WireNetworks, faults: Faults) -> PodNetworks:
    """What can't be read is added to `faults`, and is empty here."""
    addresses = _addresses(notes.pod_networks, faults)
    selections = _selections(_NETWORKS, notes.networks, faults)
    return PodNetworks(
        _claims(namespace, selections, notes, faults),
        tuple(
            (intern(f"{each.namespace or namespace}/{each.name}"), intern(each.claim or ""))
            for each in selections
            if each.name
        ),
        addresses,
    )


def _selections(name: str, note: Note, faults: Faults) -> list[_Selection]:
    """The elements of a network selection; the comma form and a bare name carry no reference, and are left out.

    Multus takes any other text for JSON.
    """
    if note is None or (isinstance(note, str) and not ("[" in note or "{" in note or '"' in note)):
        return []
    return [each for each in read(name, note, _SELECTIONS, faults) or () if each]


def _claims(namespace: str, selections: list[_Selection], notes: WireNetworks, faults: Faults) -> tuple[str, ...]:
    """The claims it refers to, by any of the three annotations.

    A claim is looked for in the namespace that the selection names; the default network's lives with the pod.
    """
    found = {f"{each.namespace or namespace}/{each.claim}": None for each in selections if each.claim}
    default = _selections(_DEFAULT_NETWORK, notes.default_network, faults)
    found |= {f"{namespace}/{each.claim}": None for each in default if each.claim}
    primary = text(_PRIMARY_CLAIM, notes.primary_claim, faults)
    if primary:
        found[f"{namespace}/{primary}"] = None
    return tuple(found)


def _addresses(note: Note, faults: Faults) -> tuple[tuple[str, str, int], ...]:
    """What the network gave."""
    networks = read(_POD_NETWORKS, note, _GIVEN, faults)
    return tuple(
        (intern("/".join(attachment.split("/")[:2])), host(ip) or ip, prefix(ip))
        for attachment, network in (networks or {}).items()
        if network and attachment != "default"
        for ip in network.ip_addresses or ([network.ip_address] if network.ip_address else ())
    )


# What follows from the spec of a pod: made once for all whose specs are alike but for the node, as launchers are.


class _Resources(Wire, frozen=True, gc=False):
    requests: dict[str, str | int | float | None] | None = None


class _Container(Wire, frozen=True, gc=False):
    resources: _Resources | None = None
    restart_policy: str | None = None


class WirePodSpec(WirePlacement, frozen=True, gc=False):
    affinity: WirePodAffinity | None = None
    topology_spread_constraints: list[WireSpread | None] | None = None
    node_name: str | None = None
    containers: list[_Container | None] | None = None
    init_containers: list[_Container | None] | None = None
    overhead: dict[str, str | int | float | None] | None = None


class PodSpecFacts(NamedTuple):
    """As the fields of Pod."""

    requests: Amounts
    placement: Placement
    neighbours: Neighbours


_KEPT = TextMemo[PodSpecFacts]()
_ALL_BUT_NODE = attrgetter(*(name for name in WirePodSpec.__struct_fields__ if name != "node_name"))
_RESOURCES = attrgetter("containers", "init_containers", "overhead")  # fewer fields: no text is that of both
_ENCODE = msgspec.json.Encoder().encode


def pod_spec_facts(spec: WirePodSpec, *, launcher: bool) -> PodSpecFacts:
    """Of any other pod than a launcher only the requests. Raises ValueError for a malformed quantity."""
    text = _ENCODE(_ALL_BUT_NODE(spec) if launcher else _RESOURCES(spec))
    found = _KEPT.get(text)
    if found is None:
        found = PodSpecFacts(
            _requests(spec),
            placement_of(spec) if launcher else ANYWHERE,
            neighbours_of(spec.affinity, spec.topology_spread_constraints) if launcher else ALONE,
        )
        _KEPT.keep(text, found)
    return found


def _requests(spec: WirePodSpec) -> Amounts:
    """What it takes of its node while it runs; what initial containers take before is left out."""
    lasting = [each for each in spec.init_containers or () if each and each.restart_policy == "Always"]
    containers = [each for each in (*(spec.containers or ()), *lasting) if each and each.resources]
    return plus(
        amounts_of(spec.overhead), *(amounts_of(each.resources.requests) for each in containers if each.resources)
    )
