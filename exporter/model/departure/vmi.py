"""One VMI of a node, with its pods and migrations."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from ..eviction import Verdict, current_pod, evicted, strategy_of
from ..indexes.nodes import HANDLER
from ..kinds.kubevirt_machine import KubevirtMachine
from ..kinds.pod import Pod
from ..kinds.virtual_machine_instance import VirtualMachineInstance
from ..kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ..since import UNKNOWN, Since, Time
from .context import NodeContext

__all__ = ["VMIContext"]

_STARTS_ALL = (1, 9)  # the first release that makes all migrations at once; before, as many as the limits let run


class VMIContext:
    def __init__(self, node: NodeContext, vmi: VirtualMachineInstance) -> None:
        self.node, self.vmi = node, vmi
        self.strategy = strategy_of(vmi, node.drain.kubevirt)
        # Its launcher pods that have not ended, in order, and its migrations, newest first.
        self.pods: list[Pod] = node.launchers_of.get(vmi.uid, [])
        self.migrations = node.migrations_of.get((vmi.namespace, vmi.name), [])

    @cached_property
    def pod(self) -> Pod | None:
        """What an eviction asks for."""
        own = current_pod(self.vmi, self.pods)
        return own or (next(iter(self.pods), None) if not self.vmi.node else None)

    @cached_property
    def verdict(self) -> Verdict:
        return evicted(self.vmi, self.pod, self.strategy, self.node.drain.pdbs_of)

    @cached_property
    def open(self) -> VirtualMachineInstanceMigration | None:
        """The newest migration that has not finished."""
        return next((each for each in self.migrations if not each.finished), None)

    @property
    def migrating(self) -> bool:
        return self.vmi.migrating or (self.open is not None and self.open.phase not in ("", "Pending"))

    @cached_property
    def evacuations(self) -> list[VirtualMachineInstanceMigration]:
        """Those for the request that it has now, or for the drain taint; newest first."""
        since = self.vmi.evacuation_since
        if since is None:
            wanted = self.vmi.evacuation or self.node.name
            return [each for each in self.migrations if each.evacuates == wanted]
        return [each for each in self.migrations if each.evacuates and (each.created or 0.0) >= since]

    @cached_property
    def failed(self) -> list[VirtualMachineInstanceMigration]:
        """The newest evacuations that have ended, as far as all failed since the request; newest first."""
        found = []
        for each in self.migrations:
            if each.finished:
                if each.phase != "Failed" or (each.created or 0.0) < (self.vmi.evacuation_since or 0.0):
                    break
                if each.evacuates:
                    found.append(each)
        return found

    @cached_property
    def besides(self) -> list[Pod]:
        """Its pods beside the one that it runs in and the target of its open migration."""
        target = self.open.uid if self.open is not None else ""
        return [pod for pod in self.pods if pod is not self.pod and not (target and pod.migration == target)]

    @property
    def others(self) -> list[str]:
        """The names of these."""
        return [pod.name for pod in self.besides]

    @cached_property
    def since(self) -> Time:
        """Since when it is asked to leave, by the best source there is; else since when its node is drained."""
        vmi = self.vmi
        if not vmi.evacuation:
            return self.node.since
        if vmi.evacuation_since is not None:
            return vmi.evacuation_since, Since.CONDITION
        tried: list[float] = []
        for each in self.evacuations:
            if each.phase == "Succeeded":
                break
            tried += [each.created] if each.created is not None else []
        return (min(tried), Since.CREATION) if tried else UNKNOWN

    @property
    def waits_for_room(self) -> bool:
        """Whether it is normal that no migration of it is made yet. Without a request the limit of the cluster is not
        followed, so it is taken for reached.
        """
        kubevirt = self.node.drain.kubevirt
        if kubevirt is None or kubevirt.release >= _STARTS_ALL:
            return False
        return not self.vmi.evacuation or self.node.full

    @property
    def deadline(self) -> float | None:
        """When its controller ends it, drained or not, in seconds since 1970; None where that is not known."""
        found: Iterable[object] = ()
        if self.vmi.handler:
            found = self.node.drain.view.sharing(HANDLER, self.vmi.handler)
        return next((each.deadline for each in found if isinstance(each, KubevirtMachine)), None)

    def plugged(self) -> list[str]:
        """Its hotplug pods: they can't be evicted before it has left."""
        return [name for pod in self.pods for name in self.node.plugged.get((pod.namespace, pod.name), ())]
