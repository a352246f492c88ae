"""ControllerRevisions of instancetypes and preferences that nothing needs.

KubeVirt makes one for each VM and object, and leaves the old one behind when a VM changes to another object, is pinned,
or is expanded (kubevirt/kubevirt#13117). It is no orphan while it is needed: by a VM that refers to it, by a VMI that
was started with it, until the VMI stops, by a snapshot, or by a restore in progress.

Not seen here: snapshots and backups that are kept outside of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.instancetypes.indexes import REVISION, revision_key
from ...facts.naming import kind_word
from ...facts.record import Record
from ...findings.check import Check, Lookup, Scope, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, reasons_of
from ...findings.partial import known
from ...findings.severity import Severity
from ...store.indexes.networks import VM
from ...store.kinds.controller_revision import ControllerRevision
from ...store.kinds.instancetypes import CLUSTER_WIDE
from ...store.kinds.snapshots import VirtualMachineRestore, VirtualMachineSnapshotContent
from ...store.kinds.templates import VirtualMachinePool
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance

TEXTS = Texts("instancetype_revisions")
_SNAPSHOT = "VirtualMachineSnapshot"


def find(view: View) -> Iterator[Finding]:
    namespace, _, name = view.partition.partition("/")
    revision = view.named(ControllerRevision, namespace, name)
    if revision is None or revision.stash is None or revision.deleting is not None:
        return
    found, whole = known(view.sharing(REVISION, revision_key(namespace, name)))
    needing = [each for each in found if each is not revision]
    if whole and _orphaned(view, revision, needing):
        yield _orphan(view, revision)


def _orphaned(view: View, revision: ControllerRevision, needing: list[Record]) -> bool:
    if revision.stash is None or not revision.stash.labelled or revision.owner_kind == _SNAPSHOT:
        return False
    ended = [each for each in needing if isinstance(each, VirtualMachineInstance) and each.final]
    restoring = any(each.active for each in view.all(VirtualMachineRestore))
    return len(ended) == len(needing) and not restoring


def _orphan(view: View, revision: ControllerRevision) -> Finding:
    owner = view.named(VirtualMachine, revision.namespace, revision.owner_name) if revision.owner_uid else None
    if not revision.owner_uid:
        cause = "ownerless"
    elif owner is not None and owner.uid == revision.owner_uid:
        cause = "superseded"
    else:
        cause = "dangling"
    # No object records when it became one. What an owner leaves behind is collected within seconds.
    began = revision.created if cause != "dangling" else None
    copied = revision.stash.object_name if revision.stash is not None else ""
    return Finding(
        reason="OrphanedRevision",
        severity=Severity.INFO,
        subject=revision.ref,
        related=(owner.ref,) if owner is not None and cause == "superseded" else (),
        vm=revision.owner_name if cause == "superseded" else "",
        message=TEXTS.message(
            "OrphanedRevision", cause, object=copied, kind=kind_word(revision.owner_kind), owner=revision.owner_name
        ),
        next=TEXTS.next("OrphanedRevision", "" if revision.owner_uid else cause),
        since=began,
        since_source=Since.CREATION if began is not None else Since.FIRST_SEEN,
        evidence={"cause": cause, "object": copied, "revision": revision.name},
    )


CHECK = Check(
    id="instancetype_revisions",
    title="ControllerRevisions of instancetypes that nothing needs",
    reads=(
        ControllerRevision.KIND,
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        VirtualMachinePool.KIND,
        VirtualMachineSnapshotContent.KIND,
        VirtualMachineRestore.KIND,
    ),
    scope=Scope("one ControllerRevision", REVISION),
    looks_up=(Lookup(VM, changes_of=(VirtualMachine,)),),
    reasons=reasons_of("instancetype_revisions"),
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
    requires=(VirtualMachine.KIND, *CLUSTER_WIDE),
)
