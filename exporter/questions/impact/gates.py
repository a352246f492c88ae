"""The feature gates that a change switches, and who uses them.

Who does is looked up by walking all VMs and VMIs in slices: what an instancetype and a preference add counts too, and
what the NADs of their networks name.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest

import msgspec

from ...checks.features.feature_mismatch import CHECK
from ...domain.features.configuration import Effective, chosen, effective
from ...domain.features.requests import network_requests, requests_of
from ...facts.record import Ref
from ...facts.rule import Ground, Request, Rule
from ...facts.rules import BY_ID, OF_NETWORKS
from ...findings.finding import Unknown
from ...store.cluster import Cluster
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.overlay import Edit, Overlay
from ...store.source import unseen

# Whom a switch of a feature gate concerns, by what VMs and VMIs ask for.
#
# A gate that neither a rule nor the table here names has no answer: nobody knows whom it hits, which is not the same as
# nobody.

Concerned = Callable[[tuple[Request, ...]], bool]
"""Whether a VM or VMI with these requests is concerned, those by its networks among them."""

_PROFILE = "kubevirt/kubevirt.json"  # the file that virt-handler puts on nodes while KubevirtSeccompProfile is on

# Of gates that concern every VM, when they do (pkg/virt-controller/services of kubevirt/kubevirt).
_EVERY: dict[str, Callable[[Effective], bool]] = {
    "ConfigurableHypervisor": lambda known: bool(known.settings.hypervisors),
    "CrossArchitectureVirtualization": lambda _: True,  # launcher pods select nodes by another label
    "IOMMUFD": lambda _: True,  # launcher pods ask for a device more
    "KubevirtSeccompProfile": lambda known: known.seccomp_profile == _PROFILE,
}


def concerned_by(gate: str, before: Effective, after: Effective) -> Concerned | None:
    """None where no rule says who asks for what the gate decides, in the releases before and after."""
    if gate in _EVERY:
        every = any(_EVERY[gate](known) for known in (before, after))
        return lambda _: every
    if gate == "DisableMDEVConfiguration":  # virt-handler makes the devices of a vGPU, or leaves that to others
        made = before.mediated_devices | after.mediated_devices
        return lambda requests: any(rule == "permitted_host_devices" and name in made for rule, name in requests)
    rules = {
        each.id: each
        for each in BY_ID.values()
        if gate in (each.gate, *each.decides) and (each.counts_in(before) or each.counts_in(after))
    }
    if not rules:
        return None
    grounds = Ground(before), Ground(after)

    def concerned(requests: tuple[Request, ...]) -> bool:
        return any(rule in rules and _matters(rules[rule], gate, name, *grounds) for rule, name in requests)

    return concerned


def _matters(rule: Rule, gate: str, parameter: str, before: Ground, after: Ground) -> bool:
    """Where something else decides too, one may be allowed as before."""
    return rule.gate == gate or rule.why(before, parameter) != rule.why(after, parameter)


KINDS = (*CHECK.reads, NetworkAttachmentDefinition.KIND)
_SLICE = 500  # VMs looked at between two looks at the event loop
_NAMED = 5
_MOST_NAMESPACES = 20
_VM = VirtualMachine.__name__
_BY_NADS = frozenset(rule.gate for rule in OF_NETWORKS)

Hit = Callable[[VirtualMachine | VirtualMachineInstance, tuple[Request, ...]], bool]
"""Whether something concerns a VM or VMI, by what it is and asks for."""


class Using(msgspec.Struct, frozen=True, rename="camel"):
    """How many VMs and VMIs of a namespace use a gate."""

    namespace: str
    vms: int
    vmis: int


class GateChange(msgspec.Struct, frozen=True, rename="camel"):
    """A feature gate that is `on` or `off` before and after. `stage` is that in the version afterwards. `ruled` says
    whether a rule knows who uses it. How many VMs and VMIs do is None without one and while they can't be seen; `some`
    are a few of them, `namespaces` those with most users, and `namespaces_in_all` says how many there are.
    """

    name: str
    before: str
    after: str
    stage: str
    ruled: bool
    vms: int | None
    vmis: int | None
    some: tuple[Ref, ...]
    namespaces: tuple[Using, ...]
    namespaces_in_all: int

    @property
    def used(self) -> bool:
        """Whether a VM or VMI asks for what it decides, or may."""
        return self.ruled and (self.vms, self.vmis) != (0, 0)


@dataclass
class Users:
    """By namespace and name; `some` are the first few, sorted."""

    vms: set[tuple[str, str]] = field(default_factory=set)
    vmis: set[tuple[str, str]] = field(default_factory=set)
    some: list[Ref] = field(default_factory=list)

    @property
    def once(self) -> set[tuple[str, str]]:
        """A VM and its VMI are one."""
        return self.vms | self.vmis

    @property
    def first(self) -> tuple[Ref, ...]:
        """Some of these."""
        named = (each for each in self.some if (each.namespace, each.name) not in self.vms or each.kind == _VM)
        return tuple(named)


def differing(before: Effective, after: Effective) -> dict[str, tuple[bool, bool]]:
    """Whether each gate that is switched was on, and is then, by its name."""
    names = sorted({*before.gates.names, *after.gates.names})
    found = {name: (before.on(name), after.on(name)) for name in names}
    return {name: pair for name, pair in found.items() if pair[0] is not pair[1]}


def users(cluster: Cluster, hits: Mapping[str, Hit]) -> Generator[None, None, dict[str, Users]]:
    """Whom each of them concerns, by its name."""
    found = {name: Users() for name in hits}
    if not hits:
        return found
    kubevirt = chosen(cluster.all(KubeVirt))
    known = kubevirt if isinstance(kubevirt, KubeVirt) else None
    for at, vm in enumerate(list(cluster.all(VirtualMachine))):
        if vm.deleting is None:
            requests = requests_of(vm, cluster.get, known) + network_requests(vm.networks, cluster.get)
            for name in [name for name, hit in hits.items() if hit(vm, requests)]:
                _count(found[name], found[name].vms, vm.ref)
        if at % _SLICE == _SLICE - 1:
            yield
    for at, vmi in enumerate(list(cluster.all(VirtualMachineInstance))):
        if not vmi.final:
            requests = vmi.asks + network_requests(vmi.networks, cluster.get)
            for name in [name for name, hit in hits.items() if hit(vmi, requests)]:
                _count(found[name], found[name].vmis, vmi.ref)
        if at % _SLICE == _SLICE - 1:
            yield
    return found


def _count(of: Users, counted: set[tuple[str, str]], ref: Ref) -> None:
    counted.add((ref.namespace, ref.name))
    insort(of.some, ref)
    del of.some[_NAMED:]


def gates_of(
    cluster: Cluster, edits: Iterable[Edit]
) -> Generator[None, None, tuple[tuple[GateChange, ...], tuple[Unknown, ...]]]:
    """Those that the edits switch, by their names, and what nobody can say of them."""
    concerned = [edit for edit in edits if edit.kind is KubeVirt]
    if not concerned:
        return (), ()
    changed = Overlay(cluster)
    for edit in concerned:
        changed.apply(edit)
    before, after = effective(cluster.all(KubeVirt)), effective(changed.all(KubeVirt))
    if not isinstance(before, Effective) or not isinstance(after, Effective):
        whys = (each for each in (before, after) if isinstance(each, str))
        return (), (Unknown("feature_mismatch", "", next(whys)),)
    switched = differing(before, after)
    found = yield from users(cluster, dict(_hits(switched, before, after)))
    blind = bool(unseen(cluster, tuple(kind.record for kind in CHECK.reads)))
    no_nads = blind or bool(unseen(cluster, (NetworkAttachmentDefinition,)))
    reports = (
        _report(name, *pair, after, before, found.get(name), blind=no_nads if name in _BY_NADS else blind)
        for name, pair in switched.items()
    )
    return tuple(reports), ()


def _hits(gates: Iterable[str], before: Effective, after: Effective) -> Iterator[tuple[str, Hit]]:
    for gate in gates:
        if (concerned := concerned_by(gate, before, after)) is not None:
            yield gate, _by_requests(concerned)


def _by_requests(concerned: Concerned) -> Hit:
    return lambda _, requests: concerned(requests)


def _report(
    name: str, was: bool, becomes: bool, after: Effective, before: Effective, of: Users | None, *, blind: bool
) -> GateChange:
    words = {True: "on", False: "off"}
    counted = of or Users()
    vms, vmis = (Counter(namespace for namespace, _ in each) for each in (counted.vms, counted.vmis))
    hidden = blind or of is None
    return GateChange(
        name,
        words[was],
        words[becomes],
        after.gates.stage(name) or before.gates.stage(name),
        of is not None,
        None if hidden else vms.total(),
        None if hidden else vmis.total(),
        tuple(counted.some),
        tuple(_namespaces(vms, vmis)),
        len({*vms, *vmis}),
    )


def _namespaces(vms: Counter[str], vmis: Counter[str]) -> Iterator[Using]:
    both = vms + vmis
    for namespace in nsmallest(_MOST_NAMESPACES, both, key=lambda each: (-both[each], each)):
        yield Using(namespace, vms[namespace], vmis[namespace])
