"""What a VM asks for with its instancetype and preference applied, as pkg/instancetype/apply of kubevirt/kubevirt does.

An instancetype gives what the template must not set; a preference fills in what was left open. What the two add is made
into a spec of its own, which the same rules look at. Preferences add panic devices only in releases in which those are
no feature any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from ...facts import specs
from ...facts.demand import Demand, applied
from ...facts.firmware import WireBootloader, WireEFI, WireFirmware, WireTPM
from ...facts.matching import ROLES, MatcherRole
from ...facts.rule import IGNITION, SIDECARS, Asking, Request
from ...facts.rules import OF_NETWORKS
from ...facts.rules.networks import IMPLICIT, ON_POD_NETWORK
from ...facts.shape import Shape
from ...facts.spec_facts import asks_of, shared
from ...facts.text_cache import remembered
from ...facts.vm_networks import VMNetwork
from ...facts.vm_spec import WireCPU, WireDevices, WireDomain, WireFeatures, WireVMSpec
from ...store.kinds.instancetypes import Kept, Sizing, Tuning
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.virtual_machine import VirtualMachine
from ..instancetypes.resolving import Find, contributions


def requests_of(vm: VirtualMachine, find: Find, kubevirt: KubeVirt | None = None) -> tuple[Request, ...]:
    """As far as KubeVirt can tell what its instancetype and preference say; of one that is missing, without it."""
    if vm.shape is None or not (vm.instancetype or vm.preference):
        return vm.asks
    added = contributions(vm, find, kubevirt)
    if added.instancetype is None and added.preference is None:
        return vm.asks
    return _together(vm.asks, vm.shape, added.texts)


def network_requests(networks: Iterable[VMNetwork], find: Find) -> tuple[Request, ...]:
    """What a VM or VMI asks for by the NADs of its networks: the resources that these name."""
    found = set[Request]()
    for _, key, unplugged in networks:
        namespace, _, name = key.partition("/")
        nad = find(NetworkAttachmentDefinition, namespace, name) if key and not unplugged else None
        if isinstance(nad, NetworkAttachmentDefinition) and nad.resource:
            found.update((rule.id, nad.resource) for rule in OF_NETWORKS)
    return tuple(sorted(found))


def bringers(
    vm: VirtualMachine, find: Find, kubevirt: KubeVirt | None, requests: Collection[Request]
) -> tuple[MatcherRole, ...]:
    """Whether the VM's instancetype, its preference or both bring the requests; neither where its template makes one of
    them itself.
    """
    if vm.shape is None or not set(requests).isdisjoint(vm.asks):
        return ()
    sized, tuned = contributions(vm, find, kubevirt).texts
    alone = zip(ROLES, ((sized, None), (None, tuned)), strict=True)
    return tuple(
        role
        for role, texts in alone
        if texts != (None, None) and not set(requests).isdisjoint(_together(vm.asks, vm.shape, texts))
    )


def demanded_by(vm: VirtualMachine, find: Find, kubevirt: KubeVirt | None = None) -> Demand:
    """What it asks of its node beside features, as far as KubeVirt can tell."""
    if vm.shape is None or not (vm.instancetype or vm.preference):
        return vm.demand
    added = contributions(vm, find, kubevirt)
    return _demanded(vm.demand, added.texts) if any(text is not None for text in added.texts) else vm.demand


def alike(before: Kept | None, after: Kept | None) -> bool:
    """Whether VMs ask for the same, whichever of the two their instancetype or preference is; None: it is not there."""
    return _said(before) == _said(after)


_NO_INSTANCETYPE, _NO_PREFERENCE = specs.Instancetype(), specs.Preference()


@remembered(20_000)
def _demanded(own: Demand, texts: tuple[str | None, str | None]) -> Demand:
    sized, tuned = texts
    return applied(
        own,
        specs.instancetype(sized) if sized is not None else None,
        specs.preference(tuned) if tuned is not None else None,
    )


def _said(kept: Kept | None) -> specs.Instancetype | specs.Preference | None:
    """Without what nodes are not asked for; None where nothing is left."""
    if isinstance(kept, Sizing):
        gives = kept.gives
        cpu = msgspec.structs.replace(gives.cpu, guest=None, max_sockets=None)
        rest = {"memory": _NO_INSTANCETYPE.memory, "io_threads": None, "io_threads_policy": None}
        left = msgspec.structs.replace(gives, cpu=cpu, scheduler_name=None, **rest)
        return left if left != _NO_INSTANCETYPE else None
    if isinstance(kept, Tuning):
        features = kept.prefers.cpu.preferred_cpu_features if kept.prefers.cpu is not None else None
        sizes = {
            "cpu": specs.features_alone(features),
            "prefer_spread_socket_to_core_ratio": None,
            "requirements": None,
        }
        other = msgspec.structs.replace(kept.prefers, **sizes)
        return other if other != _NO_PREFERENCE else None
    return None


@remembered(20_000)
def _together(own: tuple[Request, ...], shape: Shape, texts: tuple[str | None, str | None]) -> tuple[Request, ...]:
    sized, tuned = texts
    instancetype = specs.instancetype(sized) if sized is not None else None
    preference = specs.preference(tuned) if tuned is not None else None
    more = asks_of(_added(shape, instancetype, preference))
    kept = set(own)
    if preference is not None:
        kept = {request for request in own if request[0] != "emulated_machines"}
        kept |= _placed(own, shape, preference)
        if _detached(shape, preference):
            kept -= {("bridge_on_pod_network", IMPLICIT), ("default_network_interface", "")}
        if preference.devices is not None and preference.devices.preferred_interface_masquerade is not None:
            kept -= {("interface_binding", ON_POD_NETWORK)}
    # What the template says of its networks and its hardware type, a spec without any would say otherwise.
    return shared(tuple(sorted(kept | {request for request in more if request[0] not in _OF_TEMPLATE})))


_OF_TEMPLATE = ("bridge_on_pod_network", "default_network_interface", "emulated_machines")


def _placed(own: tuple[Request, ...], shape: Shape, prefers: specs.Preference) -> set[Request]:
    """A hardware type is one of an architecture; the preference may give both."""
    made = next((parameter for rule, parameter in own if rule == "emulated_machines"), "")
    architecture = shape.architecture or prefers.preferred_architecture or ""
    kind = made.rpartition(" ")[2] or (prefers.machine and prefers.machine.preferred_machine_type) or ""
    return {("emulated_machines", f"{architecture} {kind}" if architecture else kind)}


def _detached(shape: Shape, prefers: specs.Preference) -> bool:
    devices = prefers.devices
    preferred = devices.preferred_autoattach_pod_interface if devices is not None else None
    return preferred is False and "autoattachPodInterface" not in shape.taken


def _added(shape: Shape, gives: specs.Instancetype | None, prefers: specs.Preference | None) -> Asking:
    gives, prefers = gives or specs.Instancetype(), prefers or specs.Preference()
    notes = {**(prefers.annotations or {}), **(gives.annotations or {})}
    own = dict(shape.annotations)
    return Asking(
        _spec(shape, gives, prefers),
        ignition=bool(notes.get(IGNITION)) and IGNITION not in own,
        sidecars=bool(notes.get(SIDECARS)) and SIDECARS not in own,
    )


def _spec(shape: Shape, gives: specs.Instancetype, prefers: specs.Preference) -> WireVMSpec:
    taken = frozenset(shape.taken)
    firmware = prefers.firmware
    efi = firmware.preferred_efi if firmware is not None and "bootloader" not in taken else None
    hyperv = (prefers.features and prefers.features.preferred_hyperv) or {}
    security = gives.launch_security if gives.launch_security is not None else prefers.preferred_launch_security
    if "domain.launchSecurity" in shape.set:
        security = {}  # the template's own, whatever it says
    domain = WireDomain(
        cpu=WireCPU(
            model=gives.cpu.model,
            dedicated_cpu_placement=gives.cpu.dedicated_cpu_placement,
            isolate_emulator_thread=gives.cpu.isolate_emulator_thread,
            numa=gives.cpu.numa,
            realtime=gives.cpu.realtime,
        ),
        devices=_devices(gives, prefers, taken),
        firmware=WireFirmware(bootloader=WireBootloader(efi=WireEFI(efi.persistent))) if efi is not None else None,
        features=WireFeatures(hyperv={name: flag for name, flag in hyperv.items() if f"hyperv {name}" not in taken}),
        launch_security=security,
    )
    return WireVMSpec(architecture=shape.architecture or prefers.preferred_architecture, domain=domain)


def _devices(gives: specs.Instancetype, prefers: specs.Preference, taken: frozenset[str]) -> WireDevices:
    devices = prefers.devices
    if devices is None:
        return WireDevices(gpus=gives.gpus, host_devices=gives.host_devices)
    tpm = devices.preferred_tpm if "tpm" not in taken else None
    return WireDevices(
        gpus=gives.gpus,
        host_devices=gives.host_devices,
        video={} if devices.preferred_video_type is not None else None,
        tpm=WireTPM(tpm.persistent, tpm.enabled) if tpm is not None else None,
    )
