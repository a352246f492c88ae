"""The labels that virt-handler's node labeller gives a node: what its CPU and hypervisor can do.

By their prefixes in staging/src/kubevirt.io/api/core/v1/types.go; which models, features and types there are depends on
the host, and these are of one with an EPYC of the third generation.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["labels"]

_MODELS = """
486 Conroe Dhyana EPYC EPYC-IBPB EPYC-Milan EPYC-Rome Nehalem Nehalem-IBRS Opteron_G1 Opteron_G2 Opteron_G3 Penryn
SandyBridge SandyBridge-IBRS Westmere Westmere-IBRS kvm32 kvm64 qemu32 qemu64
"""
_FEATURES = """
3dnowprefetch abm adx aes amd-ssbd amd-stibp apic arat arch-capabilities avx avx2 bmi1 bmi2 clflush clflushopt clwb
clzero cmov cmp_legacy cr8legacy cx16 cx8 de erms f16c fma fpu fsgsbase fsrm fxsr fxsr_opt hypervisor ibpb ibrs
invpcid invtsc lahf_lm lbrv lfence-always-serializing lm mca mce mds-no misalignsse mmx mmxext monitor movbe msr mtrr
nopl npt nrip-save nx osvw overflow-recov pae pat pause-filter pcid pclmuldq pdpe1gb perfctr_core pfthreshold pge pku
pni popcnt pschange-mc-no pse pse36 rdctl-no rdpid rdrand rdseed rdtscp sep sha-ni skip-l1dfl-vmentry smap smep
spec-ctrl ss ssbd sse
sse2 sse4.1 sse4.2 sse4a ssse3 stibp succor svm svm-lock svme-addr-chk syscall topoext tsc tsc-deadline
tsc-scale tsc_adjust umip vaes vgif virt-ssbd vmcb-clean vme vpclmulqdq wbnoinvd x2apic xgetbv1 xsave xsavec xsaveerptr
xsaveopt xsaves
"""
_HYPERV = "base frequencies ipi reenlightenment reset runtime synic synic2 synictimer time tlbflush vpindex"
_TYPES = ("pc-q35-rhel8.6.0", "pc-q35-rhel9.2.0", "pc-q35-rhel9.4.0", "pc-q35-rhel9.6.0", "q35")


def labels() -> dict[str, str]:
    return dict.fromkeys(_names(), "true") | {
        "cpu-timer.node.kubevirt.io/tsc-frequency": "2445404000",
        "cpu-timer.node.kubevirt.io/tsc-scalable": "true",
    }


def _names() -> Iterator[str]:
    for prefix, names in (("cpu-model", _MODELS), ("cpu-model-migration", _MODELS), ("cpu-feature", _FEATURES)):
        yield from (f"{prefix}.node.kubevirt.io/{name}" for name in names.split())
    yield from (f"hyperv.node.kubevirt.io/{name}" for name in _HYPERV.split())
    yield from (f"machine-type.node.kubevirt.io/{name}" for name in _TYPES)
    yield from ("cpu-vendor.node.kubevirt.io/AMD", "host-model-cpu.node.kubevirt.io/EPYC-Milan")
    yield "scheduling.node.kubevirt.io/tsc-frequency-2445404000"
