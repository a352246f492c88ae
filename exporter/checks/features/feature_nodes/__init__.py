"""What VMs ask of nodes, and no node offers: to a VMI, to a VM that is to start, to a live migration.

A node offers something by a label that KubeVirt gives it, or by a resource of which it has more than none: devices that
are all in use are a matter of capacity and not seen here. Only nodes count that are Ready, not cordoned, and labelled
kubevirt.io/schedulable=true. What a VM needs follows from what it asks for, with its instancetype and preference
applied, as pkg/virt-controller/services of kubevirt/kubevirt makes its launcher pod.

What a feature needs and no node offers is a finding of that feature. Else all that the launcher pod asks for is taken
together: architecture, node selectors (of the VM, its instancetype and the cluster), required node affinity,
tolerations, CPU features and what features need; of a migration also the CPU model and vendor of the node that is left.
Where no node meets all of it the finding has the feature `placement` and says how many nodes each condition rules out.

What the instancetype or preference of a VM without a VMI brings is said to be so, with what can be edited.

Not seen here: free room, pod affinity and topology spread constraints, node affinity of volumes, TSC frequency; of a
VM without a pod what admission plugins and webhooks would add to that: tolerations of its namespace, for one. Nothing
is said of an affinity that Kubernetes would refuse.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....domain.features.indexes import LETS, NEEDED, OFFERED, PLACE, TAKES
from ....findings.causes import Cause
from ....findings.check import Check, Presence, Scope, View
from ....findings.finding import Finding
from ....store.kinds import controller_revision, kube_virt, node, virtual_machine, virtual_machine_instance
from ....store.kinds.instancetypes import INSTANCETYPES
from .evaluation import REASONS, unsupported
from .placing import unplaced

__all__ = ["CHECK"]


def find(view: View) -> Iterator[Finding]:
    yield from (unplaced if view.partition.startswith(PLACE) else unsupported)(view)


CHECK = Check(
    id="feature_nodes",
    title="Features that no node offers",
    reads=(
        virtual_machine.KIND,
        virtual_machine_instance.KIND,
        *INSTANCETYPES,
        controller_revision.KIND,
        kube_virt.KIND,
        node.KIND,
    ),
    scope=Scope("one thing that a node has to offer", NEEDED),
    # One finding stands for all that is missing for a feature, in whichever partition comes first.
    looks_up=(Presence(OFFERED), Presence(TAKES), Presence(LETS, partitions=PLACE)),
    cause=Cause.NEEDS,
    reasons=REASONS,
    find=find,
    fields_read=(virtual_machine.KIND, virtual_machine_instance.KIND, node.KIND),
    requires=(virtual_machine.KIND,),
)
