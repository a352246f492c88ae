"""Features that the cluster allows, and that no node offers: to a VMI, to a VM that is to start, to a live migration.

A node offers something by a label that KubeVirt gives it, or by a resource of which it has more than none: devices that
are all in use are a matter of capacity and not seen here. Only nodes count that are Ready, not cordoned, and labelled
kubevirt.io/schedulable=true. What a VM needs follows from what it asks for, with its instancetype and preference
applied, as pkg/virt-controller/services of kubevirt/kubevirt makes its launcher pod.

Not seen here: node selectors, affinity, tolerations and the architecture of a VM, so that what other nodes than its own
offer counts too; whether one node offers all of what a VM needs; CPU features, TSC frequency and realtime.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import Finding
from ...model.indexes.features import LETS, NEEDED, OFFERED, PLACE, TAKES
from ...model.kinds import (
    controller_revision,
    kube_virt,
    node,
    virtual_machine,
    virtual_machine_cluster_instancetype,
    virtual_machine_cluster_preference,
    virtual_machine_instance,
    virtual_machine_instancetype,
    virtual_machine_preference,
)
from ..base import Check, Scope, View
from .evaluation import unsupported
from .placing import unplaced
from .reasons import REASONS

__all__ = ["CHECK"]


def find(view: View) -> Iterator[Finding]:
    yield from (unplaced if view.partition.startswith(PLACE) else unsupported)(view)


CHECK = Check(
    id="feature_nodes",
    title="Features that no node offers",
    reads=(
        virtual_machine.KIND,
        virtual_machine_instance.KIND,
        virtual_machine_instancetype.KIND,
        virtual_machine_cluster_instancetype.KIND,
        virtual_machine_preference.KIND,
        virtual_machine_cluster_preference.KIND,
        controller_revision.KIND,
        kube_virt.KIND,
        node.KIND,
    ),
    scope=Scope("one thing that a node has to offer", NEEDED),
    # One finding stands for all that is missing for a feature, in whichever partition comes first.
    sways={OFFERED: "", TAKES: "", LETS: PLACE},
    reasons=REASONS,
    find=find,
    uses={
        virtual_machine.KIND: "asks deleting demand instancetype preference run_strategy settled shape start_requested",
        virtual_machine_instance.KIND: "asks blocked demand emulated migratable migration node phase strategy vm_uid",
        node.KIND: "allocatable deleting label_pairs ready taints unschedulable",
    },
    about=(virtual_machine.KIND,),
)
