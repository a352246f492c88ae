"""A write of a case of a remediation, as the ledger has it, and the objects that there are when it is taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from reconcile.carry_out.confirm import Confirmed, confirm_undo
from reconcile.plan.managed_fields import applied
from reconcile.plan.plan import Create, Patch, Refused
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import undo_of
from reconcile.plan.undo import UndoRequest
from tests.confirming import MemoryReads
from tests.evaluation import NOW
from tests.remediation_cases import answered
from tests.rows import full
from tests.sizing_rows import put

__all__ = ["Undoing", "undoing"]

Obj = dict[str, Any]


@dataclass
class Undoing:
    taken: UndoRequest
    objects: list[Obj]
    case: Mapping[str, Any]
    reads: MemoryReads

    def find(self, key: str) -> Obj:
        """By `Kind/name` or `Kind/namespace/name`."""
        kind, _, path = key.partition("/")
        namespace, _, name = path.rpartition("/")
        return next(
            each
            for each in self.objects
            if (each["kind"], each["metadata"]["name"]) == (kind, name)
            and namespace in ("", each["metadata"].get("namespace", ""))
        )

    @property
    def target(self) -> Obj:
        ref = self.taken.plan.target
        return self.find(f"{ref.kind}/{ref.namespace}/{ref.name}" if ref.namespace else f"{ref.kind}/{ref.name}")

    def made(self, *accepted: str) -> Confirmed | Refused:
        own = UndoRequest(
            attempt=self.taken.attempt,
            plan=self.taken.plan,
            before=self.taken.before,
            after=self.taken.after,
            by="alice",
            accepted=accepted,
        )
        undo = undo_of(own.plan.remediation)
        assert undo is not None
        return asyncio.run(confirm_undo(own, undo, self.reads, now=NOW + self.case.get("later", 0)))


def undoing(remediation: Remediation, of: Mapping[str, Any], case: Mapping[str, Any]) -> Undoing:
    """`of` is the case whose plan was carried out; `case` says what there is since: `rows`, objects that are new or in
    the place of others, `over` by `Kind/name`, what is put over an object, and `gone` ones.
    """
    objects = [full(row) for row in of["given"]]
    planned = answered(remediation, of)
    assert isinstance(planned, Confirmed), planned
    plan, before = planned.plan, deepcopy(dict(planned.whole))
    after = _after(planned)
    objects = [each for each in objects if _key(each) != _key(after)] + [deepcopy(after)]
    rows = [full(row) for row in case.get("rows", ())]
    objects = [each for each in objects if _key(each) not in map(_key, rows)] + rows
    made = Undoing(UndoRequest(attempt="a-1", plan=plan, before=before, after=after), objects, case, MemoryReads(()))
    for key, over in case.get("over", {}).items():
        put(made.find(key), deepcopy(over))
    gone = [made.find(key) for key in case.get("gone", ())]
    objects = [each for each in objects if each not in gone]
    made.objects = objects
    made.reads = MemoryReads(objects, case.get("fails"), case.get("absent", ()))
    return made


def _after(planned: Confirmed) -> Obj:
    step, whole = planned.plan.step, dict(planned.whole)
    if isinstance(step, Patch):
        after = deepcopy(dict(applied(whole, step.ops)))
        if any(op.path.startswith("/spec") for op in step.ops):
            after["metadata"]["generation"] = after["metadata"].get("generation", 1) + 1
        return after
    if not isinstance(step, Create):
        return whole
    made = deepcopy(dict(step.manifest))
    made["metadata"] |= {"uid": "created", "resourceVersion": "7", "creationTimestamp": "2026-09-21T14:13:20Z"}
    return made


def _key(obj: Mapping[str, Any]) -> tuple[str, str, str]:
    meta = obj["metadata"]
    return obj["kind"], meta.get("namespace", ""), meta["name"]
