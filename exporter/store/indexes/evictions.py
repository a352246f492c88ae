"""The objects by which KubeVirt's eviction webhook and its left PDBs are evaluated."""

from __future__ import annotations

from collections.abc import Iterable

from ..index import ByName, Index
from ..kinds.endpoint_slice import EndpointSlice
from ..kinds.kube_virt import KubeVirt
from ..kinds.pod import DrainRole, Pod
from ..kinds.pod_disruption_budget import PodDisruptionBudget
from ..record import Record

_ALL = "virt-api"


def _virt_api(record: Record, _: ByName) -> Iterable[str]:
    return (_ALL,) if isinstance(record, EndpointSlice | KubeVirt) else ()


def _launchers(record: Record, _: ByName) -> Iterable[str]:
    return (_ALL,) if isinstance(record, Pod) and record.role is DrainRole.LAUNCHER else ()


def _pdbs(record: Record, _: ByName) -> Iterable[str]:
    made = isinstance(record, PodDisruptionBudget) and record.made_by_kubevirt
    return (f"{record.namespace}/{record.name}",) if made else ()


# KubeVirt and the endpoints of its webhooks under one key; launcher pods, whose evictions need them, under the same.
VIRT_API = Index("virt-api", _virt_api, of=(EndpointSlice, KubeVirt))
LAUNCHERS = Index("launcher pod", _launchers, of=(Pod,))
# Each PDB that KubeVirt made.
KUBEVIRT_PDB = Index("PDB of KubeVirt", _pdbs, of=(PodDisruptionBudget,), namespaced=True)
