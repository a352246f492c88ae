"""A PDB of KubeVirt is deleted only once its VMI is gone."""

from __future__ import annotations

from collections.abc import Iterator

from reconcile.plan.plan import Plan
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.power_rules import READ, VMIS

__all__ = ["RULE", "WHILE_SAVED"]

WHILE_SAVED = True


def _orphan_pdb(write: Taken, plan: Plan, history: AuditHistory) -> Iterator[str]:
    meta, spec = (write.before or {})["metadata"], (write.before or {}).get("spec") or {}
    uids = {each["uid"] for each in meta.get("ownerReferences") or ()}
    uids.add((spec.get("selector", {}).get("matchLabels") or {}).get("kubevirt.io/created-by", ""))
    for each in history.there(VMIS, write.key[2], write.at, for_seconds=READ):
        if each["metadata"]["uid"] in uids:
            yield f"deletes the PDB of VMI {each['metadata']['name']}, which is there"


RULE = _orphan_pdb
