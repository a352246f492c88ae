"""What a remediation declares, and what it sees: fresh records and whole objects, narrowed to its declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

from exporter.facts.record import Record, Ref
from exporter.findings.check import Check, View
from exporter.findings.finding import Finding
from exporter.findings.pages import answered_by
from exporter.store.kind import ApiKind
from exporter.store.reader import ClusterView, Reader
from exporter.store.source import Undecodable

from ..fresh import FreshCluster
from .guards import Guard, Guarded, Needs
from .plan import Plan, Refused, Risk, Step
from .writes import Write

__all__ = ["COMMON_PRECONDITIONS", "SEND_SECONDS", "LookAgain", "Remediation", "Scene", "Write"]

SEND_SECONDS = 5.0
"""From the last read to the write: what appears in less can't have come to use what is released."""

R = TypeVar("R", bound=Record)

COMMON_PRECONDITIONS = {
    "finding_holds": "on fresh reads, the check still reports the finding",
    "everything_seen": "everything that the check and the remediation need could be read",
    "same_object": "the object has the UID that the finding names",
    "not_being_deleted": "the object is not being deleted, unless the finding is that its deletion is stuck",
    "namespace_active": "the namespace is not being deleted; of an IPAMClaim that exists this is not asked",
    "own_word": "the plan is the same without objects that users of other namespaces write",
    "ours_to_write": "no owner of the object would revert the write",
    "dry_run_clean": "the API server and its webhooks accept the write as a dry run",
    "same_plan": "right before the write, a new plan is the same",
    "read_just_now": "the write is sent within 5 seconds of the last read, or within less if the remediation says so",
    "unchanged": "the object has not changed since it was read",
}


LookAgain: TypeAlias = "Guard[[Plan, Mapping[str, Any], Scene], str | Refused]"
"""By a plan that was carried out, the object as it was, and what is read right after: one sentence with who uses what
was released and what to do, empty for nobody; Refused where that can't be seen.
"""


@dataclass(frozen=True, eq=False)
class Remediation(Guarded):
    """Data plus one pure function from a finding and what is read afresh to a plan or a refusal.

    `plan` reads what its guards and itself declare, and whole
    objects of those kinds; what it asked for is read again before the write. `opt_in` is an annotation that the VM must
    have with the value "true" for it to be carried out; `heeds_others` is one of the object that is written, by which
    its owner lets the word of users of other namespaces count for the write. `undo` says how it is taken back in
    general; its docstring, the manual, has a paragraph `Undo:` with the same. `note` is what somebody who approves it
    has to know first, in runbooks. `send_seconds` is how long after the last read the write may leave; after it
    `looks_again` at who might use what it released.
    """

    id: str
    title: str
    plan: Guard[[Finding, Scene], Plan | Refused] = field(repr=False)
    writes: tuple[Write, ...] = ()
    risk: Risk = Risk.NONE
    undo: str = "none: nothing is written"
    note: str = ""
    opt_in: str = ""
    heeds_others: str = ""
    proposes_only: bool = False
    send_seconds: float = SEND_SECONDS
    looks_again: LookAgain | None = field(default=None, repr=False)

    @cached_property
    def answers(self) -> Mapping[str, tuple[str, ...]]:
        """The reasons that it is for, by check: those whose page names it."""
        return answered_by(self.id)

    @cached_property
    def needs(self) -> Needs:
        after = self.looks_again  # which refuses nothing
        return Needs(self.plan, reads=after.reads if after else (), indexes=after.indexes if after else ())

    def planned(
        self, finding: Finding, step: Step, *, effect: str, risk: Risk | None = None, undo: str = "", **more: Any
    ) -> Plan:
        """A plan of this remediation for a finding, with its risk and undo where none is given; `more` are other fields
        of Plan.
        """
        return Plan(
            remediation=self.id,
            fingerprint=finding.fingerprint,
            check=finding.check,
            reason=finding.reason,
            subject=finding.subject,
            step=step,
            why=finding.message,
            effect=effect,
            risk=self.risk if risk is None else risk,
            undo=undo or self.undo,
            **{"vm": finding.vm, **more},
        )

    def __str__(self) -> str:
        return f"remediation {self.id}"


class Scene(ClusterView):
    """The cluster as it was just read, narrowed to what a remediation or an undo declares."""

    __slots__ = ("_fresh", "now")

    def __init__(self, cluster: FreshCluster, reader: Reader, now: float) -> None:
        """`now` is in seconds since 1970."""
        super().__init__(cluster, reader)
        self._fresh, self.now = cluster, now

    def readable(self, kind: type[R]) -> tuple[list[R], list[Undecodable]]:
        """All records of a kind, and the objects of it that can't be decoded.

        Whoever asks so decides where these matter. Of what is asked for otherwise one that can't be decoded refuses
        the plan: by its name, in a namespace, or anywhere where all are asked for.
        """
        with self._fresh.noting() as needs:
            found = self.all(kind)
        return found, list(self._fresh.undecodable(kind.__name__, needs))

    def whole(self, kind: ApiKind[Any], namespace: str, name: str) -> Mapping[str, Any] | None:
        """The object as the API server has it, None where it does not exist."""
        self._declared(kind.record)
        return self._fresh.whole(kind, namespace, name)

    def view(self, check: Check, partition: str) -> View:
        """What a check sees of one of its partitions, by its own default settings. The remediation declares what it
        reads and looks up.
        """
        return View(self._fresh, check, partition)

    def of(self, ref: Ref) -> Mapping[str, Any] | None:
        """The object that a reference names; None where it does not exist, or is another one of that name."""
        kind = next(each for each in self._reader.reads if each.name == ref.kind)
        found = self.whole(kind, ref.namespace, ref.name)  # type: ignore[arg-type] # a remediation reads API kinds
        return (
            found
            if found is not None and (not ref.uid or (found.get("metadata") or {}).get("uid") == ref.uid)
            else None
        )
