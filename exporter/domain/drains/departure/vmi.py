"""One VMI of a node, with its pods and migrations."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cached_property
from itertools import takewhile

from ....facts.naming import NAMED, sentence, subject_first
from ....facts.times import UNKNOWN, Since, Time
from ....store.indexes.drains import HANDLER
from ....store.kinds.kubevirt_machine import KubevirtMachine
from ....store.kinds.node import Node
from ....store.kinds.pod import Pod
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ..eviction import EvictionVerdict, current_pod, evicted, kubevirt_taint, strategy_of
from .context import Departure, DrainState, NodeContext
from .remedies import remedy_of

_CANCEL = (1, 7)  # the first release that serves evacuate/cancel
_QUOTA = "migrationRejectedByResourceQuota"
_STARTS_ALL = (1, 9)  # the first release that makes all migrations at once; before, as many as the limits let run


# Seconds that cluster-api-provider-kubevirt takes for a VMI from when it sees its request, and after which it is late.
_ITS_OWN, _LATE = 600.0, 60.0
# Seconds: KubeVirt tries again at once. What failed longer before the next attempt was of an earlier drain, where
# nothing tells when this one began.
_ONE_DRAIN = 3600.0


class VMIContext:
    def __init__(self, node: NodeContext, vmi: VirtualMachineInstance) -> None:
        self.node, self.vmi = node, vmi
        self.strategy = strategy_of(vmi, node.drain.kubevirt)
        # Its launcher pods that have not ended, in order, and its migrations, newest first: one that ended and is older
        # than the VMI was of an earlier one of its name.
        self.pods: list[Pod] = node.launchers_of.get(vmi.uid, [])
        made = node.migrations_of.get((vmi.namespace, vmi.name), [])
        self.migrations = [each for each in made if not each.finished or (each.created or 0.0) >= (vmi.created or 0.0)]

    @cached_property
    def pod(self) -> Pod | None:
        """What an eviction asks for."""
        own = current_pod(self.vmi, self.pods)
        return own or (next(iter(self.pods), None) if not self.vmi.node else None)

    @cached_property
    def verdict(self) -> EvictionVerdict:
        return evicted(self.vmi, self.pod, self.strategy, self.node.drain.pdbs_of)

    @cached_property
    def open(self) -> VirtualMachineInstanceMigration | None:
        """The migration that has not finished: of several the one that runs, which the others wait for."""
        unfinished = [each for each in self.migrations if not each.finished]
        return next((each for each in unfinished if each.running), next(iter(unfinished), None))

    @cached_property
    def target(self) -> Pod | None:
        """The target pod of that migration, where it has one that has not ended."""
        made = self.open
        return next((pod for pod in self.pods if made is not None and pod.migration == made.uid), None)

    @property
    def holding(self) -> tuple[str, ...]:
        """The conditions that hold that migration up. That of a quota stays after the target pod is made."""
        found = self.open.rejections if self.open is not None else ()
        return tuple(each for each in found if each != _QUOTA or self.target is None)

    @property
    def migrating(self) -> bool:
        if self.open is not None and self.open.phase not in ("", "Pending"):
            return True
        return self.vmi.migrating and self.unended is None

    @cached_property
    def unended(self) -> Time | None:
        """Since when its own status has a migration that never ended though no migration is there: KubeVirt makes none
        for a request while it says so. None where that is not so.
        """
        state = self.vmi.migration
        if state is None or not self.vmi.migrating or self.open is not None or not self._seen:
            return None
        ended = (each.phase_since or each.created for each in self.migrations if each.uid == state.uid)
        return max(filter(None, (state.started, *ended)), default=None), Since.PHASE

    @property
    def _seen(self) -> bool:
        return self.node.drain.seen(VirtualMachineInstanceMigration)

    @property
    def asked(self) -> bool:
        """Whether KubeVirt is to migrate it: by its request, or by KubeVirt's own taint, under which it needs none."""
        return self.vmi.evacuation == self.node.name or bool(self.node.kubevirt_taint)

    @cached_property
    def evacuations(self) -> list[VirtualMachineInstanceMigration]:
        """Those for the request that it has now, or for the drain taint, after the last one that succeeded; newest
        first.
        """
        wanted = self.node.name if self.asked else self.vmi.evacuation
        since = self.vmi.asked[0] if self.vmi.evacuation == wanted else self.node.tainted
        found: list[VirtualMachineInstanceMigration] = []
        for each in self.migrations:
            if each.phase == "Succeeded" or (each.created or 0.0) < (since or 0.0):
                break
            if each.evacuates != wanted:
                continue
            ended = each.phase_since or each.created
            if since is None and found and (found[-1].created or 0.0) - (ended or 0.0) > _ONE_DRAIN:
                break
            found.append(each)
        return found

    @property
    def has_failed(self) -> bool:
        """Whether its own status tells of a migration that failed since it has to leave; it may not be kept."""
        last, since = self.vmi.migration, self.since[0]
        if last is None or last.ended is None or since is None:
            return False
        return last.failed and last.ended >= since

    @property
    def cancels(self) -> bool:
        """Whether its evacuation request can be cancelled: KubeVirt looks up the node that it names."""
        drain = self.node.drain
        named = drain.view.named(Node, "", self.vmi.evacuation)
        if named is None or drain.kubevirt is None or drain.kubevirt.release < _CANCEL:
            return False
        return not kubevirt_taint(named, drain.kubevirt)

    @property
    def failed(self) -> list[VirtualMachineInstanceMigration]:
        """Those of them that have ended: all failed. Newest first."""
        return [each for each in self.evacuations if each.finished]

    @property
    def failures(self) -> list[VirtualMachineInstanceMigration]:
        """Its migrations that failed since the last one that succeeded, for whatever each was made; newest first."""
        since = takewhile(lambda each: each.phase != "Succeeded", self.migrations)
        return [each for each in since if each.finished]

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
        if vmi.asked[0] is not None:
            return vmi.asked
        tried = [each.created for each in self.evacuations if each.created is not None]
        if tried:
            return min(tried), Since.CREATION
        # Whoever drains a node cordons it, and evicts at once: KubeVirt before 1.7 writes no other time into a request.
        return self.node.since if vmi.evacuation == self.node.name else UNKNOWN

    @property
    def in_turns(self) -> bool:
        """Whether KubeVirt makes no more migrations than may run at once."""
        kubevirt = self.node.drain.kubevirt
        return kubevirt is not None and kubevirt.release < _STARTS_ALL

    @property
    def waits_for_room(self) -> bool:
        """Whether it is normal that no migration of it is made yet."""
        return self.in_turns and self.node.full

    @property
    def deadline(self) -> float | None:
        """When its controller ends it, drained or not, in seconds since 1970; None where that is not known."""
        found: Iterable[object] = ()
        if self.vmi.handler:
            found = self.node.drain.view.sharing(HANDLER, self.vmi.handler)
        return next((each.deadline for each in found if isinstance(each, KubevirtMachine)), None)

    @property
    def taken_up(self) -> Time:
        """Since when its controller has it in hand, as its deadline says where it began late; else since it was asked
        to leave.
        """
        began, asked = (self.deadline or 0.0) - _ITS_OWN, self.since[0]
        return (began, Since.FIRST_SEEN) if began > (asked or 0.0) + _LATE else self.since

    def plugged(self) -> list[str]:
        """Its hotplug pods: they can't be evicted before it has left."""
        return [name for pod in self.pods for name in self.node.plugged.get((pod.namespace, pod.name), ())]


# How a departure is made: what all of them carry of their VMI.

_SHARED = {"NotMigratableAfterRequest": "NotMigratable"}  # reasons with the remedy of another one


def of(
    own: VMIContext,
    state: DrainState,
    reason: str,
    why: str,
    case: str = "",
    *,
    since: Time | None = None,
    due: bool | None = None,
    to: str = "",
    values: dict[str, str] | None = None,
    **evidence: object,
) -> Departure:
    """`why` is a clause about the VMI, and made a sentence. `case` picks a remedy of the reason."""
    vmi, node = own.vmi, own.node
    shared = _SHARED.get(reason, reason)
    named = {"NAMESPACE": vmi.namespace, "NAME": vmi.name, "VMNAME": vmi.name, "UID": vmi.uid, "NODE": node.name}
    return Departure(
        vmi,
        state,
        reason,
        sentence(subject_first("VirtualMachineInstance", why)),
        remedy_of(shared, case),
        values=named | {"EVACUATIONNODENAME": vmi.evacuation} | (values or {}),
        since=own.since if since is None else since,
        evidence=_facts(own) | evidence,
        due=bool(vmi.evacuation) or node.draining if due is None else due,
        strategy=own.strategy,
        to=to,
        vmi=vmi,
        pod=own.pod,
    )


def _facts(own: VMIContext) -> dict[str, object]:
    vmi, kubevirt = own.vmi, own.node.drain.kubevirt
    default = "kubevirt" if kubevirt is not None and kubevirt.strategy else "builtin"
    requested, source = own.since if vmi.evacuation else (None, None)
    return {
        "strategy": own.strategy,
        "strategySource": "vmi" if vmi.strategy else default,
        "evacuationNodeName": vmi.evacuation,
        "requestedSince": text(requested),
        "requestedSinceSource": source.value if source is not None and requested is not None else "",
        "drain": list(own.node.signals[:NAMED]),
        "hotplugPods": own.plugged(),
    }


def text(moment: float | None) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment is not None else ""
