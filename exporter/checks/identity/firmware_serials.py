"""VMs that share a serial, which their guests show and inventories and licences go by.

KubeVirt gives a new VM a random one from 1.5.3 and 1.6.1 on, and none to older VMs. Restores to another name, exports
and backups bring it along, as do manifests and the literal of a clone. Serials are compared without regard to case and
surrounding space. VMs without one share nothing, nor do those whose serial tells cloud-init where its seed is
(`ds=nocloud;s=…`): that is a setting, and a copy that got another one would not find its seed.

Not seen here: the chassis' serial and asset tag, which users set.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.identity import SERIAL
from ...facts.firmware import group_id
from ...facts.naming import NAMED, kind_word, named
from ...findings.causes import Cause
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.indexes.networks import VM
from ...store.kinds import snapshots, virtual_machine, virtual_machine_instance, virtual_machine_instance_migration
from ._collisions import Originals, copies_in, copy_among, of_copy, of_one_vm
from .firmware_duplicates.members import Member, MemberRole, SharedValue, commands_about, group_of

_TEXTS = Texts("firmware_serials")
_SEVERITY = {MemberRole.RUNS_TOGETHER: Severity.WARNING, MemberRole.MAY_COLLIDE: Severity.INFO}

_VARIANTS = {(False, False): "", (False, True): "copy", (True, False): "running", (True, True): "running_copy"}


def find(view: View) -> Iterator[Finding | None]:
    records = tuple(view.sharing(SERIAL, view.partition))
    if of_one_vm(records):
        return
    group = yield from group_of(view, records, lambda _: None)
    if len(group.members) < 2:
        return
    copies = yield from copies_in(view, group.members)
    originals = Originals(group, copies)
    for member in group.members:
        standing = group.standing(member)
        if standing in _SEVERITY:
            yield _finding(view, group, member, standing, copies, originals.of(member))
        yield None


def _finding(
    view: View, group: SharedValue, member: Member, standing: MemberRole, copies: dict[str, str], keeper: str
) -> Finding:
    others, count = group.others(member, NAMED), group.count(member)
    runs, copy = standing is MemberRole.RUNS_TOGETHER, of_copy(copies, member, others)
    changed = copy_among(copies, member, others)
    return Finding(
        reason="SerialDuplicate",
        severity=_SEVERITY[standing],
        subject=member.ref,
        related=tuple(each.ref for each in others),
        group=group_id(view.partition),
        message=_TEXTS.message(
            "SerialDuplicate",
            _VARIANTS[runs, bool(copy)],
            kind=kind_word(member.ref.kind),
            others=named([each.key for each in others], count, most=1),
            **copy,
        ),
        next=_TEXTS.next("SerialDuplicate", "copy", copy=changed.key) if changed is not None else "",
        does=None if changed in (None, member) else (),
        commands=tuple(
            dict.fromkeys(
                text
                for each in ((changed,) if changed is not None else (member, *others))
                for text in commands_about(
                    each.ref, _REASONS["SerialDuplicate"], changes=changed is member and member.runs
                )
            )
        ),
        evidence={
            "serial": member.vmi.serial if member.vmi else member.vm.serial if member.vm else "",
            "running": member.runs,
            "others": [{"name": each.key, "kind": each.ref.kind, "running": each.runs} for each in others],
            "members": count + 1,
        }
        | ({"copy": copies[member.key]} if member.key in copies else {})
        | ({"keeper": keeper} if keeper else {}),
    )


_REASONS = reasons_of("firmware_serials")

CHECK = Check(
    id="firmware_serials",
    title="VMs that share a serial",
    reads=(
        virtual_machine.KIND,
        virtual_machine_instance.KIND,
        virtual_machine_instance_migration.KIND,
        snapshots.CLONE,
        snapshots.CONTENT,
    ),
    scope=Scope("one serial", SERIAL),
    looks_up=(VM,),
    cause=Cause.GROUP,
    reasons=_REASONS,
    find=find,
    fields_read=(virtual_machine.KIND, virtual_machine_instance.KIND),
    requires=(virtual_machine.KIND, virtual_machine_instance.KIND),
)
