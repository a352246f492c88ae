"""Each gate of the two lists: whether it does there what it seems to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ....domain.features.configuration import Effective
from ....domain.features.settings import Switch
from ....findings.finding import Finding, Severity
from ....store.kinds.kube_virt import EVEN_PARITY, KubeVirt

_LISTED, _DISABLED = "featureGates", "disabledFeatureGates"
# While one is listed, KubeVirt before 1.8 takes edits of VMs that still have such an interface.
_EDITABLE = ("Macvtap", "Passt")
_HYPERVISOR = "ConfigurableHypervisor"

_WITHOUT_EFFECT = ("MultiArchitecture",)  # of the deprecated ones: nothing asks for them any more
_INSTEAD = {
    "HotplugVolumes": "; DeclarativeHotplugVolumes takes its place",
    "DisableMDEVConfiguration": "; mediatedDevicesConfiguration.enabled takes its place",
    "ExperimentalVirtiofsSupport": "; EnableVirtioFsConfigVolumes and EnableVirtioFsStorageVolumes take its place",
}


class _Said(NamedTuple):
    reason: str
    message: str


def of_the_lists(kubevirt: KubeVirt, known: Effective, coming: Effective | None) -> Iterator[Finding]:
    """`coming` is what an upgrade that is under way leads to: what has an effect there is listed for it."""
    gates = known.gates
    for gate in sorted({*gates.enabled, *gates.disabled}):
        if coming is not None and not gates.known(gate) and coming.gates.known(gate):
            continue
        said = _said(gate, known)
        if said is not None and said.reason == "InertGate" and coming is not None and _serves(gate, coming):
            continue
        if said is not None:
            lists = {_LISTED: gate in gates.enabled, _DISABLED: gate in gates.disabled}
            nearest = "" if gates.known(gate) else gates.nearest(gate)
            yield Finding(
                reason=said.reason,
                severity=Severity.INFO,
                subject=kubevirt.ref,
                message=said.message,
                feature=gate,
                group=gate,
                evidence={
                    "gate": gate,
                    "lists": [name for name, there in lists.items() if there],
                    "stage": gates.stage(gate),
                    "on": known.on(gate),
                    "release": known.version.tag,
                    **({"nearest": nearest} if nearest else {}),
                },
            )
    hypervisors = [each.name for each in known.settings.hypervisors or () if each is not None and each.name]
    if hypervisors not in ([], ["kvm"]) and not gates.on(_HYPERVISOR):
        yield Finding(
            reason="InertGate",
            severity=Severity.INFO,
            subject=kubevirt.ref,
            message=f"Field hypervisors has no effect, since {_HYPERVISOR} is off: kvm is used",
            feature="hypervisors",
            group="hypervisors",
            evidence={"gate": _HYPERVISOR, "hypervisors": hypervisors},
        )


def _serves(gate: str, coming: Effective) -> bool:
    said = _said(gate, coming)
    return said is None or said.reason != "InertGate"


def _said(gate: str, known: Effective) -> _Said | None:
    gates = known.gates
    if not gates.known(gate):
        return _unknown(gate, known)
    if gate in gates.enabled and gate in gates.disabled:
        words = "on" if gates.on(gate) else "off"
        return _Said("GateInBothLists", f"{gate} is in {_LISTED} and in {_DISABLED}: it is {words}")
    return _enabled(gate, known) if gate in gates.enabled else _disabled(gate, known)


def _unknown(gate: str, known: Effective) -> _Said | None:
    nearest = known.gates.nearest(gate)
    if known.gates.newer and nearest.lower() != gate.strip().lower():
        return None  # it may be a gate that is newer than the table
    hint = f"; did you mean {nearest}?" if nearest else ""
    return _Said("UnknownGate", f'"{gate[:80]}" is no feature gate of {known.version.tag}, and has no effect{hint}')


def _enabled(gate: str, known: Effective) -> _Said | None:
    gates = known.gates
    if gate in _EDITABLE and gates.state(gate) == "DISC" and known.version.release < (1, 8):
        why = "no VM is created with this binding any more, and old ones can only be edited while it is listed"
        return _Said("DeprecatedGate", f"{gate} is in {_LISTED}, and discontinued: {why}")
    if why := _inert(gate, known):
        return _Said("InertGate", f"{gate} is in {_LISTED} and has no effect: {why}")
    if gates.state(gate) == "GA":
        if known.source(gate) == "listed":
            return None  # the list decides although it is GA
        return _Said("RedundantGate", f"{gate} is in {_LISTED}, and is on without it in {known.version.tag}")
    if gates.state(gate) == "DEP":
        instead = _INSTEAD.get(gate, "")
        return _Said("DeprecatedGate", f"{gate} is on, and deprecated in {known.version.tag}{instead}")
    return None


def _inert(gate: str, known: Effective) -> str:
    """Why a gate has no effect although it is listed; empty where it has one."""
    gates = known.gates
    if gates.state(gate) == "DISC":
        return f"it is discontinued in {known.version.tag}"
    if gates.state(gate) == "DEP" and gate in _WITHOUT_EFFECT:
        return f"what it stands for is always on in {known.version.tag}"
    if setting := _decides(gate, known):
        return f"{setting} decides it"
    if gate == "DeclarativeHotplugVolumes" and gates.on("HotplugVolumes"):
        return "HotplugVolumes is on as well, and takes precedence"
    if gate == "AlignCPUs" and EVEN_PARITY not in known.annotations:
        return f"the annotation {EVEN_PARITY} is not there"
    return ""


def _decides(gate: str, known: Effective) -> str:
    """The path of the setting that decides in the place of a listed gate; empty where the list decides."""
    of, state = known.settings, known.gates.state(gate)
    if gate == "ClusterProfiler" and known.source(gate) == "off":
        return "developerConfiguration.clusterProfiler"
    if gate == "CommonInstancetypesDeploymentGate" and not known.on(gate):
        return "commonInstancetypesDeployment.enabled"
    if gate == "Template" and not known.on(gate):
        return "virtTemplateDeployment.enabled"
    if gate == "DisableMDEVConfiguration" and state == "DEP" and _set(of.mediated_devices_configuration):
        return "mediatedDevicesConfiguration.enabled"
    if gate == "PersistentReservation" and state == "GA" and _set(of.persistent_reservation_configuration):
        return "persistentReservationConfiguration.enabled"
    return ""


def _set(section: Switch | None) -> bool:
    return section is not None and section.enabled is not None


def _disabled(gate: str, known: Effective) -> _Said | None:
    gates = known.gates
    if known.on(gate) and gates.state(gate) == "GA":
        return _Said("GateNotDisabled", f"{gate} is in {_DISABLED}, and stays on: it is GA in {known.version.tag}")
    if not gates.disabling:
        why = "this list has none before v1.9.0"
    elif gates.source(gate) == "disabled":
        return None
    else:
        why = "it is off wherever it is not listed"
    return _Said("InertGate", f"{gate} is in {_DISABLED} and has no effect there: {why}")
