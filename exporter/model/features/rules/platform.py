"""Features of CPU, memory, firmware and of the node that a VM runs on."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from ..rule import Asking, Ground, Migrates, Rule, Severities, Stage

__all__ = ["RULES"]

_HYPERV = ("vpindex", "runtime", "reset", "synic", "synictimer", "frequencies", "reenlightenment", "tlbflush", "ipi")
_OF_HOST = ("host-model", "host-passthrough")
_INFO = Severities(halted="info", blocked="info", migratable="info", running="info", pending=None)


def _once(asked: bool) -> Iterable[str]:
    return ("",) if asked else ()


def _security(vm: Asking) -> dict[str, object]:
    """Of s390x there is just one kind, whatever it is called."""
    return {} if vm.spec.architecture == "s390x" else vm.domain.launch_security or {}


def _sev(vm: Asking) -> Iterable[str]:
    wanted = _security(vm)
    if wanted.get("snp") is not None:
        return ("snp",)
    sev = wanted.get("sev")
    if sev is None:
        return ()
    policy = sev.get("policy") if isinstance(sev, dict) else None
    return ("sev-es",) if isinstance(policy, dict) and policy.get("encryptedState") is True else ("sev",)


def _tdx(vm: Asking) -> Iterable[str]:
    return _once(_security(vm).get("tdx") is not None)


def _secure_execution(vm: Asking) -> Iterable[str]:
    return _once(vm.domain.launch_security is not None and vm.spec.architecture == "s390x")


def _dedicated(vm: Asking) -> Iterable[str]:
    cpu = vm.cpu
    return _once(cpu.dedicated_cpu_placement is True)


def _isolated(vm: Asking) -> Iterable[str]:
    return _once(vm.cpu.isolate_emulator_thread is True)


def _numa(vm: Asking) -> Iterable[str]:
    numa = vm.cpu.numa
    return _once(numa is not None and numa.guest_mapping_passthrough is not None)


def _hyperv(vm: Asking) -> Iterable[str]:
    features = vm.domain.features
    flags = features.hyperv if features is not None else None
    if not flags:
        return ()
    return {name for name in (*_HYPERV, "evmcs") if (flag := flags.get(name)) is not None and _on(flag)}


def _on(flag: object) -> bool:
    """A flag that is there counts unless it is switched off."""
    return not isinstance(flag, dict) or flag.get("enabled") is not False


def _enlightened(flag: str) -> Iterable[str]:
    if flag == "evmcs":
        return ("label cpu-vendor.node.kubevirt.io/Intel=true",)
    return (f"label hyperv.node.kubevirt.io/{flag}=true",)


def _overhead(vm: Asking) -> Iterable[str]:
    return _once(vm.domain.memory is not None and vm.domain.memory.reserved_overhead is not None)


def _reboot(vm: Asking) -> Iterable[str]:
    return _once(vm.domain.reboot_policy is not None)


def _keeps_state(vm: Asking) -> Iterable[str]:
    tpm, firmware = vm.devices.tpm, vm.domain.firmware
    loader = firmware.bootloader if firmware is not None else None
    by_tpm = tpm is not None and tpm.persistent is True and tpm.enabled is not False
    return _once(by_tpm or (loader is not None and loader.efi is not None and loader.efi.persistent is True))


def _architecture(vm: Asking) -> Iterable[str]:
    return (vm.spec.architecture,) if vm.spec.architecture else ()


def _machine(vm: Asking) -> Iterable[str]:
    """With the architecture before it, where the spec says which; empty text for the default."""
    made = vm.domain.machine
    kind = (made.type if made is not None else "") or ""
    return (f"{vm.spec.architecture} {kind}" if vm.spec.architecture else kind,)


def _model(vm: Asking) -> Iterable[str]:
    model = vm.cpu.model
    return (model,) if model and model not in _OF_HOST else ()


def _ignition(vm: Asking) -> Iterable[str]:
    return _once(vm.ignition)


def _sidecar(vm: Asking) -> Iterable[str]:
    return _once(vm.sidecars)


def _receiver(vm: Asking) -> Iterable[str]:
    return _once(vm.run_strategy == "WaitAsReceiver")


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
    return "feature gate MultiArchitecture is off"


def _not_emulated(ground: Ground, parameter: str) -> str:
    architecture, _, kind = parameter.rpartition(" ")
    configuration = ground.configuration
    architecture = architecture or configuration.default_architecture
    kind = kind or configuration.machine_type(architecture)
    globs = configuration.emulated_machines(architecture)
    if any(fnmatchcase(kind, glob) for glob in globs):
        return ""
    return f"{kind} is not in emulatedMachines ({', '.join(globs) or 'none'})"


def _obsolete(ground: Ground, model: str) -> str:
    return f"CPU model {model} is in obsoleteCPUModels" if model in ground.configuration.obsolete_cpu_models else ""


def _unaligned(ground: Ground, _: str) -> str:
    configuration = ground.configuration
    # Off by default, and then nobody expects it: only a listed gate without its annotation is a mismatch.
    if configuration.gates.on("AlignCPUs") and not configuration.on("AlignCPUs"):
        return "feature gate AlignCPUs has no effect without its annotation"
    return "feature gate AlignCPUs is off" if not configuration.on("AlignCPUs") else ""


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


_SEV = {
    "sev": ("label kubevirt.io/sev=true", "resource devices.kubevirt.io/sev"),
    "sev-es": ("label kubevirt.io/sev-es=true", "resource devices.kubevirt.io/sev"),
    "snp": ("label kubevirt.io/sev-snp=true", "resource devices.kubevirt.io/sev"),
}

RULES = (
    Rule(
        "sev",
        "AMD SEV",
        _sev,
        "WorkloadEncryptionSEV",
        migrates=Migrates.NEVER,
        message="WorkloadEncryptionSEV feature gate is not enabled in kubevirt-config",
        nodes=lambda kind: _SEV[kind],
    ),
    Rule(
        "tdx",
        "Intel TDX",
        _tdx,
        "WorkloadEncryptionTDX",
        migrates=Migrates.NEVER,
        since=(1, 7),
        message="WorkloadEncryptionTDX feature gate is not enabled in kubevirt-config",
        nodes=lambda _: ("label kubevirt.io/tdx=true", "resource devices.kubevirt.io/tdx"),
    ),
    Rule(
        "secure_execution",
        "IBM Secure Execution",
        _secure_execution,
        "SecureExecution",
        migrates=Migrates.NEVER,
        since=(1, 6),
        message="SecureExecution feature gate is not enabled in kubevirt-config",
        nodes=lambda _: ("label kubevirt.io/s390-pv=true",),
    ),
    Rule(
        "cpu_manager",
        "dedicated CPUs",
        _dedicated,
        "CPUManager",
        stage=Stage.SCHEDULING,
        migrates=Migrates.UNSCHEDULABLE,
        severities=Severities(halted="warning"),
        nodes=lambda _: ("label kubevirt.io/cpumanager=true",),
    ),
    Rule(
        "align_cpus",
        "an even number of CPUs for the emulator thread",
        _isolated,
        stage=Stage.LIVE,
        refused=_unaligned,
        decides=("AlignCPUs",),
        since=(1, 2),
        severities=_INFO,
    ),
    Rule(
        "numa",
        "the node's NUMA topology in the guest",
        _numa,
        "NUMA",
        message="NUMA feature gate is not enabled in kubevirt-config",
    ),
    Rule(
        "hyperv_strict",
        "Hyper-V enlightenments",
        _hyperv,
        "HypervStrictCheck",
        stage=Stage.SCHEDULING,
        nodes=_enlightened,
        inverted=True,
    ),
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
        "its architecture",
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
        value="hardware type",
        message="is not supported",
        nodes=_machine_nodes,
        common=True,
    ),
    Rule(
        "obsolete_cpu_models",
        "CPU models",
        _model,
        stage=Stage.SCHEDULING,
        migrates=Migrates.UNSCHEDULABLE,
        refused=_obsolete,
        decides=("obsoleteCPUModels",),
        value="CPU model",
        nodes=lambda model: (f"label cpu-model.node.kubevirt.io/{model}=true",),
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
        value="user",
        severities=Severities(halted=None, blocked=None, migratable="info", running="info", pending=None),
        common=True,
    ),
)
