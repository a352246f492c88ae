"""VMs that refer to a NAD that doesn't exist.

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
from dataclasses import replace

from ...domain.acts import NOTHING_FORBIDDEN, Act
from ...facts.naming import named
from ...findings.advice import with_commands
from ...findings.causes import Cause
from ...findings.check import PER_VM, Check, Lookup, Presence, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.indexes.networks import INTERFACE, REFERENCE, RENDERED, RENDERED_ANYWHERE
from ...store.kinds.namespace import Namespace
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.user_defined_networks import ClusterUserDefinedNetwork, UserDefinedNetwork
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance
from ._referred import ReferredNads

_REASONS, _TEXTS = reasons_of("vm_nads"), Texts("vm_nads")
_WITHOUT_VMI = tuple(each for each in _REASONS["NadMissing"].commands if "instances" not in each)
_AT_ALL = _REASONS["NadMissing"].forbids or NOTHING_FORBIDDEN
_AT_START = replace(_AT_ALL, acts=(Act.START, Act.STOP, Act.RESTART, Act.END))
_WHILE_IT_WAITS = replace(_AT_ALL, acts=(Act.START, Act.RESTART))


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
    found = Finding(
        reason="NadMissing",
        severity=Severity.CRITICAL if waits else Severity.WARNING,
        subject=subject.ref,
        vm=subject.name,
        related=(vmi.ref,) if vmi is not None and subject is not vmi else (),
        message=_TEXTS.message(
            "NadMissing",
            _outcome(vmi, waits=waits, runs_with=bool(runs_with)),
            nads=named(nads),
            networks=named(sorted(gone)),
        ),
        next=_TEXTS.next_if_short("NadMissing", *_steps(vmi), nads=named(nads), networks=named(sorted(gone))),
        since=vmi.created if waits and vmi is not None else None,
        since_source=Since.CREATION if waits and vmi is not None and vmi.created is not None else Since.FIRST_SEEN,
        group=nads[0],
        forbids=_WHILE_IT_WAITS if waits else _AT_ALL if runs_with else _AT_START,
        evidence={"vmName": subject.name, "nad": ", ".join(nads), "networks": sorted(gone), "waits": waits},
    )
    yield with_commands(found, _WITHOUT_VMI) if vmi is None else found


def _steps(vmi: VirtualMachineInstance | None) -> tuple[str, ...]:
    """The variants of the next step, the best first."""
    return ("named",) if vmi is not None else ("stopped", "named")


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


def _outcome(vmi: VirtualMachineInstance | None, *, waits: bool, runs_with: bool) -> str:
    """The variant of the message."""
    if waits:
        return "waits"
    return "stopped" if vmi is None else "runs" if runs_with else "later"


CHECK = Check(
    id="vm_nads",
    title="VMs whose NADs don't exist",
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
