"""VMs that refer to a NAD that does not exist.

virt-controller reads the NAD of each Multus network to render a launcher pod, for a start and for a live migration
alike (`NetworkToResource` in pkg/network/multus of KubeVirt). Without it a VMI that starts has no pod and waits, one
that runs can't migrate, and a VM does not start again. Nothing keeps a NAD from being deleted while VMs refer to it
(harvester/harvester#8293), and backups may leave it out (kubevirt/kubevirt-velero-plugin#425).

Where a UserDefinedNetwork or ClusterUserDefinedNetwork has the NAD's name, OVN-Kubernetes renders it, and nobody else
may create it: that it has not is a finding on the namespace (network_namespaces).

Not seen here: a NAD in the place of the pod network (`multus.default`), and interfaces whose unplug was requested.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.acts import Act, Forbids
from ...facts.naming import named
from ...findings.causes import Cause
from ...findings.check import PER_VM, Check, Family, Lookup, Presence, Reason, View
from ...findings.finding import Finding, Since
from ...findings.severity import Severity
from ...store.indexes.networks import INTERFACE, REFERENCE, RENDERED, RENDERED_ANYWHERE
from ...store.kinds.namespace import Namespace
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.user_defined_networks import ClusterUserDefinedNetwork, UserDefinedNetwork
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance
from ._referred import ReferredNads

_FAMILY = Family("kubevirt_vm_nad_missing", "A VM refers to a NAD that does not exist.")
_NADS = "kubectl get network-attachment-definitions.k8s.cni.cncf.io -A"
_NETWORKS = (
    "kubectl get virtualmachines.kubevirt.io -n NAMESPACE VMNAME "
    "-o jsonpath='{.spec.template.spec.networks}{\"\\n\"}{.spec.template.spec.domain.devices.interfaces}'"
)
_VMI = "kubectl get virtualmachineinstances.kubevirt.io -n NAMESPACE VMNAME -o jsonpath='{.status.conditions}'"
_WHY = "a NAD that it refers to does not exist"
_WHILE_IT_WAITS = Forbids((Act.START, Act.RESTART), _WHY)
_AT_START = Forbids((Act.START, Act.STOP, Act.RESTART, Act.END), _WHY)
_AT_ALL = Forbids((*_AT_START.acts, Act.MIGRATE, Act.DRAIN), _WHY)
_REASONS = {
    "NadMissing": Reason(
        (Severity.WARNING, Severity.CRITICAL),
        "The VM refers to a NAD that does not exist: it can neither start nor migrate. Critical while a VMI waits for "
        "it.",
        _FAMILY,
        grace=300.0,  # manifests of a VM and its networks arrive in any order
        next="Create NAD again as it was; a VMI that waits then starts by itself. If the network is gone for good, "
        "stop the VM and take its network and interface out of the VM's template.",
        commands=(_NADS, _NETWORKS, _VMI),
        alert="VMNADMissing",
        does=(Act.STOP,),
        forbids=_AT_ALL,
    )
}


def find(view: View) -> Iterator[Finding | None]:
    if any(each.terminating for each in view.all(Namespace)):
        return  # what is missing goes with the namespace
    vm = next((each for each in view.all(VirtualMachine) if each.deleting is None), None)
    vmis = (each for each in view.all(VirtualMachineInstance) if each.deleting is None and not each.final)
    vmi = next(vmis, None)
    yield from view.apart(_missing(view, vm, vmi))


def _missing(view: View, vm: VirtualMachine | None, vmi: VirtualMachineInstance | None) -> Iterator[Finding]:
    """At most one finding of a VM: all its networks have to be there."""
    referred = ReferredNads(view)
    runs_with = _without_nad(view, vmi, referred)
    gone = {**runs_with, **_without_nad(view, vm, referred)}
    subject = vm or vmi
    if not gone or subject is None:
        return
    waits = vmi is not None and bool(runs_with) and vmi.phase in PENDING
    nads = sorted(set(gone.values()))
    yield Finding(
        reason="NadMissing",
        severity=Severity.CRITICAL if waits else Severity.WARNING,
        subject=subject.ref,
        vm=subject.name,
        related=(vmi.ref,) if vmi is not None and subject is not vmi else (),
        message=f"{_subject(gone, nads)}: {_outcome(vmi, waits=waits, runs_with=bool(runs_with))}",
        since=vmi.created if waits and vmi is not None else None,
        since_source=Since.CREATION if waits and vmi is not None and vmi.created is not None else Since.FIRST_SEEN,
        group=nads[0],
        forbids=_WHILE_IT_WAITS if waits else _AT_ALL if runs_with else _AT_START,
        evidence={"vmName": subject.name, "nad": ", ".join(nads), "networks": sorted(gone), "waits": waits},
    )


def _without_nad(
    view: View, vm: VirtualMachine | VirtualMachineInstance | None, referred: ReferredNads
) -> dict[str, str]:
    """The logical networks whose NAD does not exist, and that NAD."""
    return {
        network: key
        for network, key, unplugged in (vm.networks if vm is not None else ())
        if key and not unplugged and vm is not None and _gone(view, vm.namespace, key, referred)
    }


def _gone(view: View, namespace: str, key: str, referred: ReferredNads) -> bool:
    return referred.of(namespace, key) is None and not _rendered(view, key)


def _rendered(view: View, key: str) -> bool:
    """Whether OVN-Kubernetes is to render the NAD."""
    namespace, _, name = key.partition("/")
    own = view.named(UserDefinedNetwork, namespace, name)
    return own is not None or view.named(ClusterUserDefinedNetwork, "", name) is not None


def _subject(gone: dict[str, str], nads: list[str]) -> str:
    what = "Network" if len(gone) == 1 else "Networks"
    does = "refers" if len(gone) == 1 else "refer"
    one = len(nads) == 1
    missing = f"NAD{'' if one else 's'} {named(nads)}, which {'does' if one else 'do'} not exist"
    return f"{what} {named(sorted(gone))} of the VM {does} to {missing}"


def _outcome(vmi: VirtualMachineInstance | None, *, waits: bool, runs_with: bool) -> str:
    if waits:
        return "KubeVirt makes no launcher pod, and its VMI waits"
    if vmi is not None and runs_with:
        return "its VMI runs on and can't migrate, and the VM does not start again"
    return "the VM can't start" if vmi is None else "the VM does not start again"


CHECK = Check(
    id="vm_nads",
    title="VMs whose NADs do not exist",
    reads=(
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        NetworkAttachmentDefinition.KIND,
        UserDefinedNetwork.KIND,
        ClusterUserDefinedNetwork.KIND,
        Namespace.KIND,
    ),
    scope=PER_VM,
    looks_up=(
        Lookup(REFERENCE, changes_of=(NetworkAttachmentDefinition,)),
        Lookup(RENDERED, concerns=INTERFACE),
        Presence(RENDERED_ANYWHERE),
    ),
    cause=Cause.GROUP,
    reasons=_REASONS,
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND, NetworkAttachmentDefinition.KIND),
    requires=(VirtualMachine.KIND, NetworkAttachmentDefinition.KIND),
)
