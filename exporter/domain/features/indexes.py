"""What a node has to offer to VMs by what they ask for, one thing at a time and all in all, and which nodes offer it.

What VMs ask for is read through their instancetype and preference, which may be in a ControllerRevision, and through
their VMI: while a VM has one, that needs the node. Keys of what nodes offer are the texts of `Rule.nodes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from sys import intern
from zlib import crc32

from ...facts.demand import Demand
from ...facts.matching import ROLES
from ...facts.record import Record
from ...facts.rule import Request
from ...facts.rules import BY_ID
from ...facts.text_cache import remembered
from ...store.index import ByName, Index
from ...store.indexes.networks import INTERFACE, VM
from ...store.kinds.controller_revision import ControllerRevision
from ...store.kinds.instancetypes import Kept
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.node import Node
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..identity import owned
from ..instancetypes.indexes import REVISION
from ..instancetypes.resolving import LIVE, ReferenceMode, resolve, target
from .requests import alike, demanded_by, network_requests, requests_of

Need = tuple[str, str, str]
"""What a node has to offer, and the request (rule, parameter) that it is for."""

OFFERS_HARDWARE_TYPES = "hardware types"
"""The key of `TAKES` with the nodes that say which hardware types they emulate: KubeVirt before 1.5.1 writes none."""

PLACE = "place "
"""How the keys of `NEEDED` begin under which all VMs and VMIs stand that ask the same of their node, all in all."""

_VMS = (VirtualMachine, VirtualMachineInstance)
_SCHEDULABLE = ("kubevirt.io/schedulable", "true")
_HARDWARE = "machine-type.node.kubevirt.io/"
_ASKED = (
    _HARDWARE,
    "cpu-model.node.kubevirt.io/",
    "cpu-vendor.node.kubevirt.io/",
    "cpumanager",
    "hyperv.node.kubevirt.io/",
    "kubernetes.io/arch",
    "kubevirt.io/cpumanager",
    "kubevirt.io/s390-pv",
    "kubevirt.io/sev",
    "kubevirt.io/tdx",
    "kubevirt.io/vm-arch-",
)
_STATE = "vm_state_storage_class"


@remembered(20_000)
def needs(asks: tuple[Request, ...], emulated: str = "") -> tuple[Need, ...]:
    """In the order of what is needed. `emulated` is the hardware type of a VMI, in the place of what its spec says."""
    found: list[Need] = []
    for rule, parameter in asks:
        things = BY_ID[rule].nodes(parameter)
        if emulated and rule == "emulated_machines":
            things = BY_ID[rule].nodes(emulated)
        found += [(intern(thing), rule, parameter) for thing in things]
    return tuple(sorted(found))


def takes_pods(node: Node) -> bool:
    """Whether launcher pods may be scheduled to it, as far as it says so itself."""
    counts = node.ready and not node.unschedulable and node.deleting is None
    return counts and _SCHEDULABLE in node.label_pairs


def _needed(record: Record, lookup: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachine):
        if record.deleting is not None or owned(_vmi(record, lookup), record) is not None:
            return ()
        asks = requests_of(record, lookup)
        return _keys(_asked(asks, "", demanded_by(record, lookup)), record)
    if isinstance(record, VirtualMachineInstance) and not record.final and record.deleting is None:
        vm = lookup(VirtualMachine, record.namespace, record.name) if record.vm_uid else None
        leaves = isinstance(vm, VirtualMachine) and vm.uid == record.vm_uid and vm.deleting is not None
        if leaves:
            return ()
        return _keys(_asked(record.asks, record.emulated, record.demand), record)
    return ()


@remembered(20_000)
def _asked(asks: tuple[Request, ...], emulated: str, demand: Demand) -> tuple[tuple[str, ...], str]:
    """The things that a node has to offer, and the place of all that ask the same of their node."""
    needed = needs(asks, emulated)
    place = PLACE + blake2b(repr((demand, needed)).encode(), digest_size=12).hexdigest()
    return tuple(dict.fromkeys(thing for thing, _, _ in needed)), place


_PARTS = 256  # in which all that need the same thing are divided: that may be the whole fleet
_PLACE_PARTS = 32  # and all that ask for the same: a node that changes concerns each of these
_PART = " for VMs of part "


def _keys(asked: tuple[tuple[str, ...], str], record: Record) -> tuple[str, ...]:
    things, place = asked
    part = crc32(f"{record.namespace}/{record.name}".encode()) % _PARTS
    return (*[_named(thing, part) for thing in things], _named(place, part % _PLACE_PARTS))


@lru_cache(maxsize=20_000)
def _named(thing: str, part: int) -> str:
    return f"{thing}{_PART}{part}"


def thing_of(partition: str) -> str:
    """What has to be offered, of a key of `NEEDED`."""
    return partition.rpartition(_PART)[0]


def _vmi(vm: VirtualMachine, lookup: ByName) -> VirtualMachineInstance | None:
    found = lookup(VirtualMachineInstance, vm.namespace, vm.name)
    return found if isinstance(found, VirtualMachineInstance) else None


def _keeping(record: Record, lookup: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachine):
        asks = record.asks if record.deleting is None else ()
        if (
            record.preference is not None and record.deleting is None and (_STATE, "") not in asks
        ):  # no instancetype has a TPM
            asks = requests_of(record, lookup)
    elif isinstance(record, VirtualMachineInstance):
        asks = () if record.final else record.asks
    else:
        return ()
    return (f"{record.namespace}/{record.name}",) if (_STATE, "") in asks else ()


def _on_devices(record: Record, lookup: ByName) -> Iterable[str]:
    networks = record.networks if isinstance(record, _VMS) else ()
    return (f"{record.namespace}/{record.name}",) if networks and network_requests(networks, lookup) else ()


_KEYS: dict[tuple[str, str], str] = {}
_MOST = 100_000  # unlike labels of a fleet are kept


def _offered(record: Record, _: ByName) -> Iterable[str]:
    if not isinstance(record, Node) or not takes_pods(record):
        return ()
    labels = filter(None, map(_label, record.label_pairs))
    return [*labels, *(thing for name, amount in record.allocatable if amount > 0 and (thing := _resource(name)))]


def _label(pair: tuple[str, str]) -> str:
    """Empty for one that no rule asks for. A node has hundreds, most of which others have too."""
    found = _KEYS.get(pair)
    if found is None:
        if len(_KEYS) > _MOST:
            _KEYS.clear()
        name, value = pair
        # KubeVirt before 1.6 wrote the labels of SEV without a value.
        found = intern(f"label {name}={value or 'true'}") if name.startswith(_ASKED) else ""
        _KEYS[pair] = found
    return found


def _resource(name: str) -> str:
    """Empty for one of Kubernetes itself, which every node has."""
    domain, slash, _ = name.partition("/")
    own = not slash or domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
    return "" if own else f"resource {name}"


def _takes(record: Record, _: ByName) -> Iterable[str]:
    if not isinstance(record, Node) or not takes_pods(record):
        return ()
    says = any(name.startswith(_HARDWARE) for name, _ in record.label_pairs)
    return ("", OFFERS_HARDWARE_TYPES) if says else ("",)


def _lets(record: Record, _: ByName) -> Iterable[str]:
    if not isinstance(record, Node):
        return ()
    taints = tuple((each.key, each.value, each.effect) for each in record.taints)
    offered = tuple(name for name, amount in record.allocatable if amount > 0)
    open_for = (record.unschedulable, record.ready, record.deleting is None)
    return ("", f"{record.name} {hash((record.label_pairs, taints, offered, open_for)):x}")


def _referred(record: Record, lookup: ByName) -> Iterable[str]:
    """Of a VM that gets the live object, and no copy. Whatever kind that is: two of one name cost more, and alter
    nothing.
    """
    if not isinstance(record, VirtualMachine) or not (record.instancetype or record.preference):
        return ()
    found = set()
    for role in ROLES:
        resolution = resolve(record, role, lookup)
        if resolution is not None and resolution.mode is ReferenceMode.UNVERSIONED and resolution.kind:
            _, namespace, name = target(record.namespace, role, resolution.reference)
            found.add(f"{namespace}/{name}")
    return found


def _same_asked(before: Record | None, after: Record | None) -> bool:
    one = before or after
    if not isinstance(one, Kept):
        return False
    return alike(before if isinstance(before, Kept) else None, after if isinstance(after, Kept) else None)


def _same_needed(before: Record | None, after: Record | None) -> bool:
    if isinstance(before, VirtualMachineInstance) and isinstance(after, VirtualMachineInstance):
        # While it lives the VM of it needs nothing itself.
        lives = before.deleting is None and after.deleting is None
        return lives and not before.final and not after.final and before.vm_uid == after.vm_uid
    if isinstance(before, VirtualMachine) and isinstance(after, VirtualMachine):
        return before.uid == after.uid and (before.deleting is None) == (after.deleting is None)
    return _same_asked(before, after)


def _same_kept(before: Record | None, after: Record | None) -> bool:
    if isinstance(before, VirtualMachineInstance) and isinstance(after, VirtualMachineInstance):
        facts = ("uid", "vm_uid", "phase", "migratable", "node", "asks", "blocked")
        return all(getattr(before, name) == getattr(after, name) for name in facts)
    return _same_asked(before, after)


_REFERRED = Index(
    "VM of a live instancetype or preference",
    _referred,
    of=(VirtualMachine,),
    through=((ControllerRevision, REVISION),),
)
_THROUGH_WHAT_IT_REFERS_TO: tuple[tuple[type[Record], Index], ...] = (
    *((kind, _REFERRED) for kind in LIVE.values()),
    (ControllerRevision, REVISION),
)

# VMs without a VMI, and VMIs, by each thing that a node has to offer, in parts.
NEEDED = Index(
    "what a node has to offer",
    _needed,
    of=_VMS,
    through=(*_THROUGH_WHAT_IT_REFERS_TO, (VirtualMachine, VM), (VirtualMachineInstance, VM)),
    unmoved=_same_needed,
)
# The nodes by the same; one that takes no launcher pods offers nothing.
OFFERED = Index("what a node offers", _offered, of=(Node,))
# The nodes that take launcher pods, under the empty key.
TAKES = Index("node that takes launcher pods", _takes, of=(Node,))
# All nodes under the empty key, and each by what decides which pods it takes.
LETS = Index("which pods a node takes", _lets, of=(Node,))
# VMs that keep state in a volume that KubeVirt makes, with their VMIs, which concern each other.
STATE = Index(
    "VM with state of TPM or EFI",
    _keeping,
    of=_VMS,
    through=(*_THROUGH_WHAT_IT_REFERS_TO, (VirtualMachine, VM), (VirtualMachineInstance, VM)),
    unmoved=_same_kept,
)
# VMs and VMIs on a network whose NAD names a resource, which concern each other.
DEVICE = Index(
    "VM on a network with a device",
    _on_devices,
    of=_VMS,
    through=((NetworkAttachmentDefinition, INTERFACE), (VirtualMachine, VM), (VirtualMachineInstance, VM)),
    namespaced=True,
)
