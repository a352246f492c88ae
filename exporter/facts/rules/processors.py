"""Features of CPUs, and of guests whose memory the CPU encrypts."""

from __future__ import annotations

from collections.abc import Iterable

from ..rule import Asking, Ground, Migrates, Rule, Severities, Stage, once

_HYPERV = ("vpindex", "runtime", "reset", "synic", "synictimer", "frequencies", "reenlightenment", "tlbflush", "ipi")
_OF_HOST = ("host-model", "host-passthrough")
_INFO = Severities(halted="info", blocked="info", migratable="info", running="info", pending=None)


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
    return once(_security(vm).get("tdx") is not None)


def _secure_execution(vm: Asking) -> Iterable[str]:
    return once(vm.domain.launch_security is not None and vm.spec.architecture == "s390x")


def _dedicated(vm: Asking) -> Iterable[str]:
    cpu = vm.cpu
    return once(cpu.dedicated_cpu_placement is True)


def _isolated(vm: Asking) -> Iterable[str]:
    return once(vm.cpu.isolate_emulator_thread is True)


def _numa(vm: Asking) -> Iterable[str]:
    numa = vm.cpu.numa
    return once(numa is not None and numa.guest_mapping_passthrough is not None)


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


def _model(vm: Asking) -> Iterable[str]:
    model = vm.cpu.model
    return (model,) if model and model not in _OF_HOST else ()


def _obsolete(ground: Ground, model: str) -> str:
    return f"CPU model {model} is in obsoleteCPUModels" if model in ground.configuration.obsolete_cpu_models else ""


def _unaligned(ground: Ground, _: str) -> str:
    configuration = ground.configuration
    # Off by default, and then nobody expects it: only a listed gate without its annotation is a mismatch.
    if configuration.gates.on("AlignCPUs") and not configuration.on("AlignCPUs"):
        return "feature gate AlignCPUs has no effect without its annotation"
    return configuration.gates.off("AlignCPUs") if not configuration.on("AlignCPUs") else ""


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
        allows="Add AlignCPUs to featureGates of KubeVirt, and its annotation to the object.",
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
        "obsolete_cpu_models",
        "CPU models",
        _model,
        stage=Stage.SCHEDULING,
        migrates=Migrates.UNSCHEDULABLE,
        refused=_obsolete,
        decides=("obsoleteCPUModels",),
        allows="Remove {} from obsoleteCPUModels of KubeVirt.",
        value="CPU model",
        nodes=lambda model: (f"label cpu-model.node.kubevirt.io/{model}=true",),
        common=True,
    ),
)
