"""What the view of one VM reads."""

from __future__ import annotations

from typing import Any

from ...domain.drains.departure.context import INDEXES as OF_DEPARTURES
from ...domain.instancetypes.kinds import INSTANCETYPES
from ...store.indexes.features import TAKES
from ...store.indexes.nodes import PART
from ...store.kind import ApiKind
from ...store.kinds import node, pod
from ...store.kinds.controller_revision import ControllerRevision
from ...store.kinds.endpoint_slice import EndpointSlice
from ...store.kinds.ipam_claim import IPAMClaim
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.namespace import Namespace
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.persistent_volume import PersistentVolume
from ...store.kinds.pod_disruption_budget import PodDisruptionBudget
from ...store.kinds.storage_class import StorageClass
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ...store.reader import Reading
from .. import drain

KINDS: tuple[ApiKind[Any], ...] = (
    VirtualMachine.KIND,
    VirtualMachineInstance.KIND,
    pod.KIND,
    node.KIND,
    VirtualMachineInstanceMigration.KIND,
    PodDisruptionBudget.KIND,
    KubeVirt.KIND,
    EndpointSlice.KIND,
    *INSTANCETYPES,
    ControllerRevision.KIND,
    NetworkAttachmentDefinition.KIND,
    IPAMClaim.KIND,
    StorageClass.KIND,
    PersistentVolume.KIND,
    Namespace.KIND,
)
INDEXES = tuple(dict.fromkeys((*drain.INDEXES, *OF_DEPARTURES, PART, TAKES)))
READER = Reading("vm", (*KINDS, *(each for each in drain.READER.reads if each not in KINDS)), INDEXES)
