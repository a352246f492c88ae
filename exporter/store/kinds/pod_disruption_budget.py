"""PodDisruptionBudgets: those that KubeVirt before 1.6 creates, and those of users."""

from __future__ import annotations

from sys import intern

from ...facts.record import Record, Wire, WireCondition, WireMeta, WireOwner, epoch, identity
from ...facts.selector import Selector, WireSelector, selector_of
from ..kind import ApiKind

_KUBEVIRT_NAMES = ("kubevirt-disruption-budget-", "kubevirt-migration-pdb-")


class _Meta(WireMeta, frozen=True, gc=False):
    generation: int | None = None
    owner_references: list[WireOwner | None] | None = None


class _Spec(Wire, frozen=True, gc=False):
    selector: WireSelector | None = None
    min_available: str | int | None = None
    max_unavailable: str | int | None = None
    unhealthy_pod_eviction_policy: str | None = None


class _Status(Wire, frozen=True, gc=False):
    observed_generation: int | None = None
    disruptions_allowed: int | None = None
    current_healthy: int | None = None
    desired_healthy: int | None = None
    expected_pods: int | None = None
    conditions: list[WireCondition | None] | None = None


class _PodDisruptionBudget(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    spec: _Spec | None = None
    status: _Status | None = None


class PodDisruptionBudget(Record, frozen=True, gc=False):
    created: float | None
    deleting: float | None
    selector: Selector | None  # None selects no pod, an empty one every pod of the namespace
    min_available: str  # a number or a percentage as text; empty for none
    max_unavailable: str
    always_unhealthy: bool  # it lets every unready pod go (unhealthyPodEvictionPolicy AlwaysAllow)
    behind: bool  # its controller has not yet seen its last change
    allowed: int
    healthy: int
    desired: int
    expected: int
    refused: str  # the reason of its condition DisruptionAllowed while that is False
    since: float | None  # of that condition
    owner_vmi: str  # the name of the VMI that controls it; empty where none does
    owner_uid: str

    @property
    def vms(self) -> tuple[str, ...]:
        return (self.owner_vmi,) if self.owner_vmi else ()

    @property
    def made_by_kubevirt(self) -> bool:
        return bool(self.owner_vmi) or self.name.startswith(_KUBEVIRT_NAMES)


def _reduce(wire: _PodDisruptionBudget) -> PodDisruptionBudget:
    meta, spec, status = wire.metadata, wire.spec or _Spec(), wire.status or _Status()
    allowed = next((c for c in status.conditions or () if c and c.type == "DisruptionAllowed"), WireCondition())
    controllers = [o for o in meta.owner_references or () if o and o.kind == "VirtualMachineInstance" and o.controller]
    owner = controllers[0] if controllers else WireOwner()
    return PodDisruptionBudget(
        *identity(meta),
        created=epoch(meta.creation_timestamp),
        deleting=epoch(meta.deletion_timestamp),
        selector=selector_of(spec.selector),
        min_available="" if spec.min_available is None else str(spec.min_available),
        max_unavailable="" if spec.max_unavailable is None else str(spec.max_unavailable),
        always_unhealthy=spec.unhealthy_pod_eviction_policy == "AlwaysAllow",
        behind=(status.observed_generation or 0) < (meta.generation or 0),
        allowed=status.disruptions_allowed or 0,
        healthy=status.current_healthy or 0,
        desired=status.desired_healthy or 0,
        expected=status.expected_pods or 0,
        refused=intern(allowed.reason or "") if allowed.status == "False" else "",
        since=epoch(allowed.last_transition_time) if allowed.status == "False" else None,
        owner_vmi=owner.name or "",
        owner_uid=owner.uid or "",
    )


KIND = ApiKind(
    PodDisruptionBudget, group="policy", plural="poddisruptionbudgets", wire=_PodDisruptionBudget, reduce=_reduce
)
PodDisruptionBudget.KIND = KIND
