"""Whether a write is permitted: by the gates, on what is read then, and by an approval.

`RunContext` is what the loop works with, and a `Candidate` what it works on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from exporter.facts.times import Skew
from exporter.findings.check import Check
from exporter.store.kind import ApiKind

from ..config.settings import Mode, SidecarConfig, is_stricter, mode_of
from ..decide.approval import approved
from ..decide.canary import on_trial
from ..decide.gates import Ask, Blocked, Labels, Situation, blocked, half_used
from ..decide.repair import Found
from ..ledger import Entry
from ..ledger.history import Attempt
from ..plan.annotations import APPROVED_PLAN, annotations_of
from ..plan.plan import Refused
from ..plan.remediation import Remediation
from .attempt import Attempts, Shadowing
from .confirm import Confirmed
from .fresh_reads import Reads
from .metrics import Measures, ShownRepairs
from .outcomes import AttemptOutcomes
from .situation import VMCounts, labels_of_namespace, of_namespace, of_vm, upgrading


@dataclass(frozen=True)
class Candidate:
    found: Found
    remediation: Remediation
    mode: Mode

    @property
    def key(self) -> tuple[str, str]:
        return self.found.hint.fingerprint, self.remediation.id


@dataclass
class RunContext:
    """What a loop works with. Its `config` is another one once that is reloaded: ask for it each time."""

    config: SidecarConfig
    remediations: tuple[Remediation, ...]
    checks: Mapping[str, Check]
    settings: Mapping[str, Any]  # of the checks
    assumed: str  # the upstream version to take KubeVirt for; empty for the one that it reports
    kinds: Mapping[str, ApiKind[Any]]
    reads: Reads
    vms: VMCounts
    attempts: Attempts
    shadowing: Shadowing
    kept: Callable[[Entry], None]  # takes each new entry of the ledger
    following: AttemptOutcomes
    repairs: ShownRepairs
    measures: Measures
    # Why everything is paused now, as the Lease says; empty where it is not, None where the Lease could not be read.
    paused: Callable[[], str | None]
    labels: Callable[[Found], Labels]  # of the alert of a finding
    clock: Callable[[], float]  # seconds since 1970
    skew: Callable[[], Skew | None]  # between that clock and the API server's, as it is now
    timer: Callable[[], float]


class Permission:
    """What holds during one run. `first_seen` is since when a finding is known, by its fingerprint."""

    def __init__(self, context: RunContext, situation: Situation, first_seen: Mapping[str, float]) -> None:
        self._context, self._situation, self._first_seen = context, situation, first_seen
        self._namespaces: dict[str, Mapping[str, Any] | None] = {}  # annotations
        self._read: Mapping[str, str] | None = None  # the labels of the namespace, as last read

    def unfinished(self) -> list[Attempt]:
        """Attempts of which it is not known what came of them."""
        return self._situation.history.unfinished()

    def on_trial(self, candidate: Candidate) -> str:
        """What its write tries: see `Trials`; empty where nothing is on trial."""
        if candidate.mode is not Mode.AUTO:
            return ""
        return on_trial(self._context.config, candidate.remediation, self._situation.history)

    async def blocked(self, candidate: Candidate, written: int) -> tuple[Blocked, ...]:
        """What is in the way before anything is read of the object; annotations of a namespace are read once."""
        namespace = candidate.found.namespace
        if namespace not in self._namespaces:
            self._namespaces[namespace] = await of_namespace(self._context.reads, namespace)
        if namespace not in self._situation.vms and half_used(self._situation, self._context.config):
            vms = {**self._situation.vms, namespace: await self._context.vms.within(namespace)}
            self._situation = replace(self._situation, vms=vms)
        if stricter := self.stricter(candidate, self._situation.labels.get(namespace)):
            return (Blocked(stricter.precondition, stricter.why),)
        situation = replace(self._situation, namespaces=self._namespaces)
        return blocked(self._asked(candidate, written), situation, self._context.config, reads=False)

    async def refused(self, candidate: Candidate, made: Confirmed, written: int) -> Refused | None:
        """By the gates, with what is read right before the write of object, VM and namespace; and by the approval."""
        context, namespace = self._context, candidate.found.namespace
        now = replace(
            self._situation,
            now=context.clock(),
            skew=context.skew(),
            upgrading=await upgrading(context.reads),
            paused=context.paused(),
            namespaces={namespace: await of_namespace(context.reads, namespace)},
            labels={namespace: await self._labels(candidate)},
        )
        ask = replace(
            self._asked(candidate, written),
            target=made.plan.bound_to,
            vm=made.plan.vm or candidate.found.vm,
            annotations=await pausable(context.reads, made, candidate.found),
        )
        if gates := blocked(ask, now, context.config):
            return Refused(gates[0].gate, gates[0].why)
        self._read = now.labels[namespace]
        if stricter := self.still(candidate):
            return stricter
        if candidate.mode is not Mode.APPROVE:
            return None
        if self._situation.history.used(approval(made)):
            return Refused("approved", f"the approval of plan {made.plan.hash} has been used. Approve again")
        authorized, since = context.measures.standing.authorizing, self._situation.history.since
        longest = context.config.approval.longest
        if why := approved(made.plan, made.whole, now.now, longest, since=since, authorized=authorized):
            return Refused("approved", why)
        return None

    async def _labels(self, candidate: Candidate) -> Mapping[str, str] | None:
        """Of the namespace, read afresh where the mode depends on them."""
        namespace, context = candidate.found.namespace, self._context
        if not context.config.by_labels(candidate.remediation.id, namespace):
            return {}
        return await labels_of_namespace(context.reads, namespace)

    def still(self, candidate: Candidate) -> Refused | None:
        """Whether the mode is a stricter one than when it was permitted."""
        return self.stricter(candidate, self._read)

    def stricter(self, candidate: Candidate, labels: Mapping[str, str] | None) -> Refused | None:
        """Where the mode is a stricter one by now: of another configuration, or since the namespace lost a label."""
        namespace, remediation = candidate.found.namespace, candidate.remediation
        mode = mode_of(self._context.config, remediation.id, namespace, labels)
        if not is_stricter(mode, candidate.mode):
            return None
        where = f"in namespace {namespace}" if namespace else "for objects without namespace"
        return Refused("mode", f"the mode of {remediation} is now {mode.value} {where}, and was {candidate.mode.value}")

    def _asked(self, candidate: Candidate, written: int) -> Ask:
        found, hint = candidate.found, candidate.found.hint
        return Ask(
            remediation=candidate.remediation,
            namespace=found.namespace,
            subject=hint.subject,
            check=hint.check,
            fingerprint=hint.fingerprint,
            mode=candidate.mode,
            vm=found.vm,
            since=self._first_seen.get(hint.fingerprint, self._context.clock()),
            labels=self._context.labels(found),
            planned=written,
        )


async def pausable(reads: Reads, made: Confirmed, found: Found) -> dict[str, Mapping[str, Any] | None]:
    """The annotations of the object of a plan, and of its VM, as `Ask` has them."""
    bound, vm = made.plan.bound_to, made.plan.vm or found.vm
    annotations = {str(bound): annotations_of(made.whole)}
    if vm and (bound.kind, bound.name) != ("VirtualMachine", vm):
        annotations[f"VirtualMachine {found.namespace}/{vm}"] = await of_vm(reads, found.namespace, vm)
    return annotations


def approval(made: Confirmed) -> str:
    """The approval that the object bears; empty where there is none."""
    return str((annotations_of(made.whole) or {}).get(APPROVED_PLAN, ""))
