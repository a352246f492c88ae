"""A PDB of KubeVirt outlives its VMI."""

from __future__ import annotations

from tests.cluster.resources import PDBS
from tests.cluster.stage import Stage

from ._fault import GONE, Fault, named

__all__ = ["FAULTS"]


def _orphan_pdb(stage: Stage) -> None:
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "name": "db", "uid": GONE}
    meta = {"namespace": stage.namespace, "name": "kubevirt-disruption-budget-x"}
    made = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta | {"ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}]},
        "spec": {"selector": {"matchLabels": {"kubevirt.io/created-by": GONE}}, "minAvailable": 1},
    }
    stage.client.create(made)


FAULTS = (
    Fault(
        "orphan_pdb",
        "delete_orphan_pdb",
        "OrphanPDB",
        _orphan_pdb,
        PDBS,
        named("kubevirt-disruption-budget-x"),
        verb="delete",
        undone="created again",
        aged=True,
    ),
)
