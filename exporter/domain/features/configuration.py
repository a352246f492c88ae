"""What a KubeVirt installation allows: the settings of its KubeVirt object over the defaults of its version.

Where nobody can know it there is a sentence why: no KubeVirt object or several, a version that is none of upstream, a
configuration that is undecodable or that KubeVirt ignores. Defaults as in pkg/virt-config of kubevirt/kubevirt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from sys import intern

import msgspec

from ...facts.nesting import misfit
from ...facts.text_cache import remembered
from ...facts.versions import Version
from ...store.kinds.kube_virt import EVEN_PARITY, KubeVirt
from .gates import Gates, states_of, version_of
from .settings import (
    Architecture,
    Developer,
    Device,
    Devices,
    NetworkSettings,
    Problem,
    Settings,
    Switch,
    problems,
    settings,
)

# Which permitted devices have nearly the name that a VM asks for: another case or prefix, or a part of it.
#
# Resource names are written by hand in two places, and commonly in two ways: `nvidia.com/TU104GL_Tesla_T4` is what
# device plugins make of the PCI database, `nvidia.com/TU104GL` what documentation has. That two names mean one device
# can't be known: only a mediated device whose type is what the VM's name says is the same.

_COMPARED = 200  # permitted devices: clusters have a few kinds
_NAMED = 3
_ALIKE = 0.8  # of two vendors: one of a dozen letters is another


def like(device: str, permitted: Iterable[Device]) -> tuple[str, ...]:
    """The resource names of the first permitted devices that are nearly called so."""
    found = (each.resource_name for each in islice(permitted, _COMPARED) if _near(device, each))
    return tuple(islice(dict.fromkeys(name for name in found if name), _NAMED))


def _near(device: str, permitted: Device) -> bool:
    vendor, _, own = device.rpartition("/")
    other_vendor, _, other = (permitted.resource_name or "").rpartition("/")
    name, other_name = _letters(own), _letters(other)
    if not name or not other_name:
        return False
    if name == other_name:
        return not vendor or not other_vendor or _alike(vendor.lower(), other_vendor.lower())
    if name == _letters(permitted.mdev_name_selector or ""):
        return True
    words, others = set(_words(own)), set(_words(other))
    return vendor.lower() == other_vendor.lower() and (words < others or others < words)


def _alike(one: str, other: str) -> bool:
    return one == other or SequenceMatcher(None, one[:253], other[:253]).ratio() >= _ALIKE


def _letters(name: str) -> str:
    return "".join(_words(name))


def _words(name: str) -> Iterator[str]:
    """In lower case, and without what stands between them."""
    yield from "".join(each if each.isalnum() else " " for each in name.lower()).split()


_MOST_DEVICES = 4096  # of which the permitted ones with nearly their name are kept
_MOST_UNKNOWN = 100  # names in a list of gates
_LONGEST = 253  # characters of one that is reported
_PROFILER_LISTED = Version(1, 8, 0, 0)  # until then the gate ClusterProfiler counts beside the setting
_OPTIONAL = ("ClusterProfiler", "PersistentReservation")  # GA, and off all the same where nobody asks for them
_MACHINES = {"arm64": ("virt*",), "s390x": ("s390-ccw-virtio*",)}  # globs; as amd64 the rest
_MACHINE = {"arm64": "virt", "s390x": "s390-ccw-virtio"}
_OBSOLETE = (
    "486 pentium pentium2 pentium3 pentiumpro coreduo n270 core2duo Conroe athlon phenom "
    "qemu64 qemu32 kvm64 kvm32 Opteron_G1 Opteron_G2"
)
OBSOLETE_CPU_MODELS = frozenset(f"{model}{suffix}" for model in _OBSOLETE.split() for suffix in ("", "-v1"))
"""Those that KubeVirt takes for obsolete where nobody lists any: pkg/virt-handler/node-labeller/util/util.go."""


@dataclass(frozen=True, eq=False)
class Effective:
    """What is in effect. One value is shared by all that ask for the same configuration and version."""

    gates: Gates
    settings: Settings
    annotations: tuple[str, ...]
    default_architecture: str  # empty where KubeVirt has not said it

    @staticmethod
    def of(kubevirt: KubeVirt, version: str | None = None) -> Effective | str:
        """Of one object, under its own version or another; or why nobody knows. The object may be one that does not
        count: see `chosen`.
        """
        known = understood(kubevirt, version)
        if isinstance(known, str):
            return known
        wrong = known.problem
        return f"{kubevirt.ref} is ignored as a whole: {wrong.path}: {wrong.why}" if wrong is not None else known

    @cached_property
    def problem(self) -> Problem | None:
        """The first value for which KubeVirt ignores the configuration."""
        return next(iter(problems(self.settings)), None)

    @property
    def version(self) -> Version:
        return self.gates.version

    def on(self, gate: str) -> bool:
        """Whether what a gate stands for is on: by the gate, or by the setting that decides in its place."""
        return self._decided[gate] if gate in self._decided else self.gates.on(gate)

    def source(self, gate: str) -> str:
        """As `Gates.source`; of what a setting decides it is `listed` where it is on, and `off` where it is off."""
        source, on = self.gates.source(gate), self.on(gate)
        if on == (source in ("always", "listed", "default")) and not (source == "always" and gate in _OPTIONAL):
            return source
        return "listed" if on else "off"

    @cached_property
    def _decided(self) -> Mapping[str, bool]:
        """What is not by the gate alone."""
        gates, of = self.gates, self.settings
        virtiofs = gates.on("ExperimentalVirtiofsSupport") and gates.state("ExperimentalVirtiofsSupport") != "DISC"
        decided = {
            "AlignCPUs": gates.on("AlignCPUs") and EVEN_PARITY in self.annotations,
            "DeclarativeHotplugVolumes": self.declarative_hotplug,
            "DisableMDEVConfiguration": gates.on("DisableMDEVConfiguration"),
            "EnableVirtioFsConfigVolumes": gates.on("EnableVirtioFsConfigVolumes") or virtiofs,
            "EnableVirtioFsStorageVolumes": gates.on("EnableVirtioFsStorageVolumes") or virtiofs,
            "Template": gates.on("Template") and _switch(of.virt_template_deployment) is not False,
        }
        if gates.state("DisableMDEVConfiguration") == "DEP":  # since the setting is there
            handled = _switch(of.mediated_devices_configuration)
            if handled is not None:
                decided["DisableMDEVConfiguration"] = not handled
        if gates.state("PersistentReservation") == "GA":
            wanted = _switch(of.persistent_reservation_configuration)
            listed = "PersistentReservation" in gates.enabled
            decided["PersistentReservation"] = listed if wanted is None else wanted
        if gates.state("CommonInstancetypesDeploymentGate") == "GA":
            decided["CommonInstancetypesDeploymentGate"] = self.common_instancetypes
        if gates.state("ClusterProfiler") == "GA":
            listed = self.version < _PROFILER_LISTED and "ClusterProfiler" in gates.enabled
            decided["ClusterProfiler"] = bool(self._developer.cluster_profiler) or listed
        return decided

    @property
    def declarative_hotplug(self) -> bool:
        """Whether volumes of a VM's template are hotplugged. An empty CD-ROM asks for the gate alone: `gates.on`."""
        return self.gates.on("DeclarativeHotplugVolumes") and not self.gates.on("HotplugVolumes")

    @property
    def common_instancetypes(self) -> bool:
        """Whether KubeVirt's own instancetypes and preferences are deployed; without it virt-operator deletes them."""
        if self.gates.state("CommonInstancetypesDeploymentGate") != "GA":
            return self.gates.on("CommonInstancetypesDeploymentGate")
        return _switch(self.settings.common_instancetypes_deployment) is not False

    @property
    def emulation(self) -> bool:
        """Whether VMs run without KVM where a node has none."""
        return self._developer.use_emulation is True

    @property
    def memory_overcommit(self) -> int:
        """In percent: of how much memory a guest is said to have, its launcher pod asks for 100."""
        return self._developer.memory_overcommit or 100

    @property
    def hypervisors(self) -> tuple[str, ...]:
        """As configured, where that has an effect, else kvm."""
        named = tuple(each.name for each in self.settings.hypervisors or () if each is not None and each.name)
        return named if named and self.gates.on("ConfigurableHypervisor") else ("kvm",)

    @cached_property
    def permitted_devices(self) -> frozenset[str] | None:
        """The resource names that devices may have; None where nobody checks them."""
        permitted = self.settings.permitted_host_devices
        if permitted is None:
            return None
        return _resources(_devices(permitted))

    def permitted_like(self, device: str) -> tuple[str, ...]:
        """The resource names of some permitted devices that are nearly called so."""
        found = self._nearly.get(device)
        if found is None:  # it is asked of each VM, and once more for each thing that its devices need of nodes
            if len(self._nearly) >= _MOST_DEVICES:
                self._nearly.clear()
            found = self._nearly[device] = like(device, _devices(self.settings.permitted_host_devices))
        return found

    @cached_property
    def _nearly(self) -> dict[str, tuple[str, ...]]:
        return {}

    @cached_property
    def mediated_devices(self) -> frozenset[str]:
        """The resource names of the permitted mediated devices that KubeVirt's own device plugin offers."""
        permitted = self.settings.permitted_host_devices
        return _resources(
            each for each in (permitted and permitted.mediated_devices) or () if each and not _external(each)
        )

    @cached_property
    def external_devices(self) -> frozenset[str]:
        """The resource names of permitted devices that another device plugin offers."""
        return _resources(each for each in _devices(self.settings.permitted_host_devices) if _external(each))

    @cached_property
    def pci_vendors(self) -> Mapping[str, frozenset[str]]:
        """The pciVendorSelectors in lower case, by the resource name of the permitted PCI device."""
        permitted = self.settings.permitted_host_devices
        found: dict[str, frozenset[str]] = {}
        for each in (permitted and permitted.pci_host_devices) or ():
            if each is not None and each.resource_name:
                selector = (each.pci_vendor_selector or "").lower()
                found[each.resource_name] = found.get(each.resource_name, frozenset()) | {selector}
        return found

    @cached_property
    def bindings(self) -> frozenset[str]:
        """The names of the network binding plugins."""
        return frozenset(self._network.binding or ())

    @property
    def bridge_on_pod_network(self) -> bool:
        return self._network.permit_bridge_interface_on_pod_network is not False

    @property
    def slirp_interface(self) -> bool:
        return self._network.permit_slirp_interface is True

    @property
    def default_interface(self) -> str:
        return self._network.default_network_interface or "bridge"

    def emulates(self, arch: str, machine_type: str) -> bool:
        """Whether a VM of an architecture may have this machine type. The patterns are globs, up to release 1.5 regular
        expressions that match anywhere (vmi-create-admitter.go of kubevirt/kubevirt).
        """
        patterns = self.emulated_machines(arch)
        if self.version.release < (1, 6):
            return any(_found(pattern, machine_type) for pattern in patterns)
        return any(fnmatchcase(machine_type, pattern) for pattern in patterns)

    def emulated_machines(self, arch: str) -> tuple[str, ...]:
        """Patterns of the machine types that a VM of an architecture may have."""
        by_arch = self._architecture(arch).emulated_machines
        written = tuple(each for each in self.settings.emulated_machines or by_arch or () if each is not None)
        return written or _MACHINES.get(arch, ("q35*", "pc-q35*"))

    def machine_type(self, arch: str) -> str:
        """The one that a VM has which names none."""
        return self.settings.machine_type or self._architecture(arch).machine_type or _MACHINE.get(arch, "q35")

    @property
    def cpu_model(self) -> str:
        """The one that a VM has which names none; empty: host-model."""
        return self.settings.cpu_model or ""

    @cached_property
    def node_selectors(self) -> Mapping[str, str]:
        """What all launcher pods select, unless the VMI's own selector says otherwise."""
        return {key: str(value or "") for key, value in (self._developer.node_selectors or {}).items()}

    @cached_property
    def obsolete_cpu_models(self) -> frozenset[str]:
        """Those that no node offers; those that are listed take the place of KubeVirt's own."""
        return frozenset(self.settings.obsolete_cpu_models or OBSOLETE_CPU_MODELS)

    @property
    def state_storage_class(self) -> str:
        """Of the volumes for TPM and EFI state; empty: the default StorageClass."""
        return self.settings.vm_state_storage_class or ""

    @property
    def seccomp_profile(self) -> str:
        """The localhostProfile of all launcher pods; empty where they have none."""
        seccomp = self.settings.seccomp_configuration
        profile = seccomp and seccomp.virtual_machine_instance_profile
        return (profile and profile.custom_profile and profile.custom_profile.localhost_profile) or ""

    @property
    def _developer(self) -> Developer:
        return self.settings.developer or Developer()

    @property
    def _network(self) -> NetworkSettings:
        return self.settings.network or NetworkSettings()

    def _architecture(self, arch: str) -> Architecture:
        of = self.settings.architecture_configuration
        by_name = {"arm64": of.arm64, "s390x": of.s390x} if of else {}
        return (by_name.get(arch) if arch in by_name else of and of.amd64) or Architecture()


_PLAIN = re.compile(r"[A-Za-z0-9._-]*")  # of an expression, whose dots are taken for dots


def _found(pattern: str, text: str) -> bool:
    """Whether a regular expression matches anywhere in a text. Of one that has more to it than a beginning or a
    repetition at its end, as no list of machine types has, it is not known to match nowhere.
    """
    literal = pattern.removeprefix("^")
    if literal.endswith("*"):
        literal = literal[:-2]
    if _PLAIN.fullmatch(literal) is None:
        return True
    return text.startswith(literal) if pattern.startswith("^") else literal in text


def _switch(section: Switch | None) -> bool | None:
    return section.enabled if section is not None else None


def _devices(permitted: Devices | None) -> Iterator[Device]:
    if permitted is not None:
        for listed in (permitted.pci_host_devices, permitted.mediated_devices, permitted.usb):
            yield from (each for each in listed or () if each is not None)


def _external(device: Device) -> bool:
    return device.external_resource_provider is True


def _resources(devices: Iterable[Device]) -> frozenset[str]:
    return frozenset(intern(each.resource_name) for each in devices if each.resource_name)


def chosen(kubevirts: Iterable[KubeVirt]) -> KubeVirt | str:
    """The object that KubeVirt's components take their configuration from, or why nobody knows which."""
    found = [each for each in kubevirts if each.deleting is None and each.phase]
    if not found:
        return "no KubeVirt object is deployed"
    if len(found) > 1:
        found.sort(key=lambda each: each.ref)
        return f"{len(found)} KubeVirt objects are deployed, {found[0].ref.path} and {found[1].ref.path} among them"
    return found[0]


def effective(kubevirts: Iterable[KubeVirt]) -> Effective | str:
    """What the one KubeVirt object of a cluster allows now, or why nobody knows."""
    kubevirt = chosen(kubevirts)
    return kubevirt if isinstance(kubevirt, str) else Effective.of(kubevirt)


def forecast(kubevirt: KubeVirt) -> Effective | None:
    """What the object allows once the upgrade that is under way is done; None where none is, or nobody knows."""
    if not kubevirt.upgrading or not kubevirt.version or kubevirt.assumed:
        return None
    known = Effective.of(kubevirt, kubevirt.coming or kubevirt.target)
    return None if isinstance(known, str) else known


def understood(kubevirt: KubeVirt, version: str | None = None) -> Effective | str:
    """As `Effective.of`, but of a configuration that KubeVirt ignores what it says."""
    known = version_of(kubevirt, version)
    if isinstance(known, str):
        return known
    made = _made(kubevirt.configuration, known, kubevirt.annotations, kubevirt.default_architecture)
    return f"{kubevirt.ref} is undecodable: spec.configuration: {made}" if isinstance(made, str) else made


def _listed(names: Iterable[str | None] | None, version: Version) -> tuple[str, ...]:
    """Each name once. Of those that no release knows, which have no effect, the first are enough to be reported."""
    known = states_of(version)
    once = dict.fromkeys(each[:_LONGEST] for each in names or () if each is not None)
    left_out = frozenset([each for each in once if each not in known][_MOST_UNKNOWN:])
    return tuple(each for each in once if each not in left_out)


@remembered(most=64)
def _made(configuration: str, version: Version, annotations: tuple[str, ...], architecture: str) -> Effective | str:
    try:
        of = settings(configuration)
    except msgspec.DecodeError as error:
        return misfit(error)
    developer = of.developer or Developer()
    enabled, disabled = (
        _listed(gates, version) for gates in (developer.feature_gates, developer.disabled_feature_gates)
    )
    return Effective(Gates(version, enabled, disabled), of, annotations, architecture)
