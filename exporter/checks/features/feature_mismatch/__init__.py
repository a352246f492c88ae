"""VMs and VMIs that ask for a feature that the cluster does not allow: now, at the next edit, start or migration.

KubeVirt never looks at VMs when somebody switches a feature off, and a VMI that runs goes on without an event
(kubevirt/community#316). A VM counts with its instancetype and its preference applied; the KubeVirt object and its
release say what the cluster allows. Where the VM's template does not ask for it itself, the finding says which of the
two brings it, and what can be edited: the object, or what the VM refers to. Of a device that is not permitted the
finding names permitted ones with nearly its name. docs/features.md has all features, and how the reasons differ.

Not seen here: what nodes support (feature_nodes), and StorageClasses (feature_storage); VMs that a tool outside of
the cluster is about to create; an interface without any binding before KubeVirt 1.9, which takes it and whose
virt-handler never gets such a VMI started ("undefined binding method"); of emulatedMachines before KubeVirt 1.6, which
are regular expressions, those that are more than the beginning or a part of a name.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....domain.instancetypes.indexes import OBJECT, REVISION
from ....findings.causes import Cause
from ....findings.check import PER_VM, Check, Lookup, View
from ....findings.finding import Finding
from ....store.kinds.controller_revision import ControllerRevision
from ....store.kinds.instancetypes import INSTANCETYPES
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from .evaluation import REASONS, mismatches

__all__ = ["CHECK"]


def find(view: View) -> Iterator[Finding]:
    return mismatches(view)


CHECK = Check(
    id="feature_mismatch",
    title="VMs that ask for features that the cluster does not allow",
    reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND, *INSTANCETYPES, ControllerRevision.KIND, KubeVirt.KIND),
    scope=PER_VM,
    looks_up=(OBJECT, Lookup(REVISION, changes_of=(ControllerRevision,))),
    cause=Cause.FEATURE,
    reasons=REASONS,
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
    requires=(VirtualMachine.KIND,),
)
