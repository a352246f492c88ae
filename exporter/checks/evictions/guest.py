"""One VMI on a node, with its pods and migrations, and what a finding on it carries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property

from ...findings import Finding, Severity, Since
from ...model.evacuation import failures, underway
from ...model.eviction import Verdict, current_pod, evicted, strategy_of
from ...model.indexes.nodes import HANDLER, PDB
from ...model.kinds.kubevirt_machine import KubevirtMachine
from ...model.kinds.pod import Pod
from ...model.kinds.pod_disruption_budget import PodDisruptionBudget
from ...model.kinds.virtual_machine_instance import VirtualMachineInstance
from ...model.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ...model.record import Ref
from .site import UNKNOWN, Site, Time

__all__ = ["Guest", "text"]


class Guest:
    def __init__(self, site: Site, vmi: VirtualMachineInstance) -> None:
        self.site, self.vmi = site, vmi
        self.strategy = strategy_of(vmi, site.kubevirt)
        self.requested = bool(vmi.evacuation)

    @property
    def able(self) -> bool:
        return self.vmi.migratable == "True"

    @property
    def unable(self) -> bool:
        """Whether it is known that it can't be migrated; what was not evaluated yet is not known."""
        return self.vmi.migratable == "False" and self.vmi.phase == "Running"

    @property
    def pods(self) -> list[Pod]:
        """Its launcher pods that have not ended, in order."""
        return self.site.launchers_of.get(self.vmi.uid, [])

    @cached_property
    def pod(self) -> Pod | None:
        return current_pod(self.vmi, self.pods)

    @property
    def migrations(self) -> list[VirtualMachineInstanceMigration]:
        """Newest first."""
        return self.site.migrations_of.get((self.vmi.namespace, self.vmi.name), [])

    @cached_property
    def open(self) -> VirtualMachineInstanceMigration | None:
        """Its migration that has not ended."""
        return underway(self.migrations)

    @cached_property
    def evacuations(self) -> list[VirtualMachineInstanceMigration]:
        """Those that were to carry out the mark that it has now, newest first."""
        own = [each for each in self.migrations if each.evacuates]
        if self.vmi.evacuation_since is None:
            return [each for each in own if each.evacuates == self.vmi.evacuation]
        return [each for each in own if (each.created or 0.0) >= self.vmi.evacuation_since]

    @cached_property
    def failed(self) -> Sequence[VirtualMachineInstanceMigration]:
        """The newest evacuations that have ended, as far as all of them failed since it was marked; newest first."""
        return failures(self.migrations, self.vmi.evacuation_since)

    @cached_property
    def since(self) -> Time:
        """Since when it is marked, by the best that tells (B.10)."""
        if self.vmi.evacuation_since is not None:
            return self.vmi.evacuation_since, Since.CONDITION
        tried = []
        for each in self.evacuations:
            if each.phase == "Succeeded":
                break
            tried.append(each.created)
        oldest = min((each for each in tried if each is not None), default=None)
        return (oldest, Since.CREATION) if oldest is not None else UNKNOWN

    @cached_property
    def verdict(self) -> Verdict:
        found = self.site.view.sharing(PDB, self.vmi.namespace)
        pdbs = [each for each in found if isinstance(each, PodDisruptionBudget)]
        return evicted(self.vmi, self.pod, self.strategy, pdbs)

    @property
    def deadline(self) -> float | None:
        """When whoever manages it ends it, emptied or not, in seconds since 1970; None where that is not known."""
        found = self.site.view.sharing(HANDLER, self.vmi.handler) if self.vmi.handler else ()
        return next((each.deadline for each in found if isinstance(each, KubevirtMachine)), None)

    def plugged(self) -> list[str]:
        """The pods that hold its plugged volumes on the node: they can't be evicted before it has left."""
        plugged = self.site.plugged
        return [name for pod in self.pods for name in plugged.get((pod.namespace, pod.name), ())]

    def finding(
        self,
        reason: str,
        message: str,
        step: str,
        *,
        severity: Severity = Severity.WARNING,
        since: Time = UNKNOWN,
        related: tuple[Ref, ...] = (),
        **evidence: object,
    ) -> Finding:
        """`step` says what to do about it."""
        vmi, kubevirt = self.vmi, self.site.kubevirt
        default = "kubevirt" if kubevirt is not None and kubevirt.strategy else "builtin"
        requested_at, reported_by = self.since if self.requested else UNKNOWN
        facts = {
            "strategy": self.strategy,
            "strategySource": "vmi" if vmi.strategy else default,
            "evacuationNodeName": vmi.evacuation,
            "markedSince": text(requested_at),
            "markedSinceSource": reported_by.value if requested_at is not None else "",
            "drain": list(self.site.signals),
            "hotplugPods": self.plugged(),
            **evidence,
            "next": step,
        }
        return Finding(
            reason=reason,
            severity=severity,
            subject=vmi.ref,
            message=message,
            related=related,
            node=self.site.name,
            since=since[0],
            since_source=since[1],
            evidence={name: fact for name, fact in facts.items() if fact not in ("", [], None)},
        )


def text(moment: float | None) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment is not None else ""
