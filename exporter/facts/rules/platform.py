"""Features of memory, firmware, hardware type and architecture, and of how a VM is started."""

from __future__ import annotations

from collections.abc import Iterable

from ..rule import Asking, Ground, Migrates, Rule, Severities, Stage, once


def _overhead(vm: Asking) -> Iterable[str]:
    return once(vm.domain.memory is not None and vm.domain.memory.reserved_overhead is not None)


def _reboot(vm: Asking) -> Iterable[str]:
    return once(vm.domain.reboot_policy is not None)


def _keeps_state(vm: Asking) -> Iterable[str]:
    tpm, firmware = vm.devices.tpm, vm.domain.firmware
    loader = firmware.bootloader if firmware is not None else None
    by_tpm = tpm is not None and tpm.persistent is True and tpm.enabled is not False
    return once(by_tpm or (loader is not None and loader.efi is not None and loader.efi.persistent is True))


def _architecture(vm: Asking) -> Iterable[str]:
    return (vm.spec.architecture,) if vm.spec.architecture else ()


def _machine(vm: Asking) -> Iterable[str]:
    """With the architecture before it, where the spec says which; empty text for the default."""
    made = vm.domain.machine
    kind = (made.type if made is not None else "") or ""
    return (f"{vm.spec.architecture} {kind}" if vm.spec.architecture else kind,)


def _ignition(vm: Asking) -> Iterable[str]:
    return once(vm.ignition)


def _sidecar(vm: Asking) -> Iterable[str]:
    return once(vm.sidecars)


def _receiver(vm: Asking) -> Iterable[str]:
    return once(vm.run_strategy == "WaitAsReceiver")


def _user(vm: Asking) -> Iterable[str]:
    return ("root" if vm.user == 0 else "qemu",) if vm.user is not None else ()


def _other_user(ground: Ground, user: str) -> str:
    on = ground.configuration.on("Root")
    if on == (user == "root"):
        return ""
    return f"feature gate Root is {'on' if on else 'off'}"


def _foreign(ground: Ground, architecture: str) -> str:
    configuration = ground.configuration
    if configuration.on("MultiArchitecture") or architecture == (configuration.default_architecture or architecture):
        return ""
    return configuration.gates.off("MultiArchitecture")


def _not_emulated(ground: Ground, parameter: str) -> str:
    architecture, _, kind = parameter.rpartition(" ")
    configuration = ground.configuration
    architecture = architecture or configuration.default_architecture
    kind = kind or configuration.machine_type(architecture)
    if configuration.emulates(architecture, kind):
        return ""
    patterns = configuration.emulated_machines(architecture)
    return f"{kind} is not in emulatedMachines ({', '.join(patterns) or 'none'})"


def _no_class(ground: Ground, _: str) -> str:
    if ground.storage is None:
        return ""
    name = ground.configuration.state_storage_class
    if name:
        found = any(each.name == name for each in ground.storage)
        return "" if found else f"vmStateStorageClass is {name}, and there is no such StorageClass"
    return "" if any(each.default for each in ground.storage) else "no StorageClass is the default"


def _machine_nodes(parameter: str) -> Iterable[str]:
    kind = parameter.rpartition(" ")[2]
    return (f"label machine-type.node.kubevirt.io/{kind}=true",) if kind else ()


RULES = (
    Rule(
        "reserved_overhead",
        "reserved memory overhead",
        _overhead,
        "ReservedOverheadMemlock",
        since=(1, 8),
        message="Reserved overhead memlock feature gate is not enabled",
    ),
    Rule(
        "reboot_policy",
        "rebootPolicy",
        _reboot,
        "RebootPolicy",
        since=(1, 8),
        message="RebootPolicy is specified but the RebootPolicy feature gate is not enabled",
    ),
    Rule(
        "persistent_state",
        "a persistent TPM or EFI",
        _keeps_state,
        "VMPersistentState",
        message="VMPersistentState feature gate is not enabled",
    ),
    Rule(
        "vm_state_storage_class",
        "storage for the state of a persistent TPM or EFI",
        _keeps_state,
        stage=Stage.POD,
        refused=_no_class,
        decides=("vmStateStorageClass",),
        severities=Severities(halted="warning", migratable="info", running="info"),
        storage=True,
    ),
    Rule(
        # With CrossArchitectureVirtualization by another label, of the nodes that can emulate it.
        "cross_arch",
        "a certain architecture",
        _architecture,
        stage=Stage.SCHEDULING,
        nodes=lambda architecture: (f"label kubernetes.io/arch={architecture.lower()}",),
        inverted=True,
        common=True,
    ),
    Rule(
        "multi_arch",
        "a chosen architecture",
        _architecture,
        refused=_foreign,
        decides=("MultiArchitecture",),
        value="architecture",
        until=(1, 7),
        message="MultiArchitecture feature gate is not enabled",
        common=True,
    ),
    Rule(
        "emulated_machines",
        "emulated hardware types",
        _machine,
        refused=_not_emulated,
        decides=("architectureConfiguration", "emulatedMachines"),
        allows="Add the machine type to emulatedMachines of KubeVirt.",
        value="hardware type",
        message="is not supported",
        nodes=_machine_nodes,
        common=True,
    ),
    Rule(
        "ignition",
        "Ignition data",
        _ignition,
        "ExperimentalIgnitionSupport",
        message="ExperimentalIgnitionSupport feature gate is not enabled",
    ),
    Rule("sidecar", "hook sidecars", _sidecar, "Sidecar", message="sidecar feature gate is not enabled"),
    Rule(
        "decentralized_migration",
        "migration from another cluster",
        _receiver,
        "DecentralizedLiveMigration",
        stage=Stage.EDIT,
        migrates=Migrates.UNKNOWN,
        since=(1, 6),
        message="Invalid RunStrategy (WaitAsReceiver), DecentralizedLiveMigration feature gate is not enabled",
    ),
    Rule(
        "root",
        "the launcher's user",
        _user,
        stage=Stage.LIVE,
        refused=_other_user,
        decides=("Root",),
        allows="Change Root in featureGates of KubeVirt.",
        value="user",
        severities=Severities(halted=None, blocked=None, migratable="info", running="info", pending=None),
        common=True,
    ),
)
