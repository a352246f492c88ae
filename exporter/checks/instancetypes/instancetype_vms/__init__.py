"""VMs whose instancetype or preference is missing, can't be used, or will be lost.

KubeVirt saves the instancetype and the preference of a VM in ControllerRevisions of the VM's namespace, and from then
on the VM gets the saved ones. Without a ControllerRevision the VM gets the live object, whose change or deletion
KubeVirt doesn't prevent (kubevirt/kubevirt#8142). A reference to a missing object stops virt-controller before it reads
the VM's run strategy: a running VM then continues to run, and can't be stopped or restarted.

A pin (`revisionName` in the matcher of the spec) goes before everything else. A patch that removes it leaves the VM as
it is from 1.5 on, since its status continues to name that ControllerRevision. Up to 1.4 KubeVirt then saves the live
object. KubeVirt's webhook takes an empty `revisionName` as none, and rejects another name in a matcher whose
`revisionName` stays (pkg/instancetype/webhooks/vm).

A finding's group says whether it is about the VM's instancetype or its preference.

Not seen here: the answers of KubeVirt's webhooks, and the instancetype that the labels of a volume, PVC or DataSource
name for a VM that is to be created. The webhook puts that name into the VM's spec, and InferencePending is a VM that
the webhook has not handled.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....domain.instancetypes.indexes import OBJECT, REVISION
from ....facts.matching import ROLES, MatcherRole
from ....findings.check import PER_VM, Check, Lookup, View
from ....findings.finding import Finding
from ....findings.severity import Severity
from ....store.kinds.controller_revision import ControllerRevision
from ....store.kinds.instancetypes import CLUSTER_WIDE, INSTANCETYPES
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from .context import REASONS, Context
from .references import broken, field_conflict, requirements_unmet, stale_reference, unversioned
from .stashes import drifted, unfit

__all__ = ["CHECK"]


def find(view: View) -> Iterator[Finding | None]:
    for vm in view.all(VirtualMachine):
        if vm.deleting is None and (vm.instancetype or vm.preference):
            context = Context.of(view, vm)
            for role in ROLES:
                yield from view.apart(_of(context, role))


def _of(context: Context, role: MatcherRole) -> Iterator[Finding | None]:
    yield stale_reference(context, role)
    resolution = context.resolved(role)
    if resolution is None:
        return
    found = broken(context, resolution)
    yield found
    if found is not None and resolution.failure is not None:
        return
    conflict = field_conflict(context, resolution) if role is MatcherRole.INSTANCETYPE and found is None else None
    yield conflict or unversioned(context, resolution)  # a conflict is why there is no copy
    lasting = [each for each in unfit(context, resolution) if each is not None]
    yield from lasting
    if found is None:
        if all(each.severity is not Severity.CRITICAL for each in lasting):
            yield drifted(context, resolution)  # else it does not go on with its copy
        yield requirements_unmet(context) if role is MatcherRole.PREFERENCE else None


CHECK = Check(
    id="instancetype_vms",
    title="VMs whose instancetype or preference is missing or will be lost",
    reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND, *INSTANCETYPES, ControllerRevision.KIND, KubeVirt.KIND),
    scope=PER_VM,
    looks_up=(OBJECT, Lookup(REVISION, changes_of=(ControllerRevision,))),
    reasons=REASONS,
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND, KubeVirt.KIND),
    requires=(VirtualMachine.KIND, *CLUSTER_WIDE),
)
