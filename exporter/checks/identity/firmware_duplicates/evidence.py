"""What a finding on a shared UUID says: who the others are, how it may have come about, and which one to change."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from datetime import UTC, datetime
from math import inf
from typing import Any, NamedTuple

from ....domain.acts import Act
from ....domain.identity import LEGACY_NAME, effective, owned
from ....facts.firmware import derived, group_id, legacy
from ....facts.naming import NAMED, kind_word, named
from ....facts.record import UnseenError
from ....findings.check import View
from ....findings.finding import Finding
from ....findings.pages import Texts
from ....findings.severity import Severity
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.snapshots import VirtualMachineSnapshotContent
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from .members import Member, MemberRole, SharedValue

_TEXTS = Texts("firmware_duplicates")

# Which member of a group should keep the UUID.
#
# Whether anything outside identifies a VM by its UUID can't be seen, and does not count.

_TPM = "persistent TPM"


class KeeperChoice(NamedTuple):
    """Which one should keep the UUID, and why; without a keeper, why none is proposed."""

    keeper: Member | None
    why: str


def keeps_state(member: Member) -> bool:
    """Whether a new UUID loses what it keeps under the old one. EFI variables are kept under the VM's name."""
    return _TPM in (member.vm.sealed if member.vm else "", member.vmi.sealed if member.vmi else "")


def brought_from_elsewhere(member: Member) -> bool:
    """Whether it was restored from a snapshot or a backup, most likely with its UUID."""
    return member.vm is not None and member.vm.origin in ("restore", "backup")


def _critical(member: Member) -> bool:
    return member.vm is not None and member.vm.critical


# In their order: what speaks for a member (the least value wins), and how that is said.
_ORDER: tuple[tuple[Callable[[Member, str], Any], str], ...] = (
    (lambda one, _: not keeps_state(one), "a new UUID empties its persistent TPM"),
    (lambda one, _: not _critical(one), "its priority class is critical"),
    (lambda one, _: not one.runs, "it runs"),
    (lambda one, _: brought_from_elsewhere(one), "it was not restored from a snapshot or a backup"),
    (lambda one, uuid: legacy(one.record.name) != uuid, "the UUID is derived from its own name"),
    (lambda one, _: one.record.created or inf, "it is the oldest"),
    (lambda one, _: one.place, "it is the first by name"),
)


def keeper(members: Sequence[Member], uuid: str) -> Generator[None, None, KeeperChoice]:
    """Returns the proposal for those that share a UUID, with pauses; none where two of them would lose something with
    a new one.
    """
    if sum(map(keeps_state, members)) > 1:
        return KeeperChoice(None, "more than one has a persistent TPM, which a new UUID empties")
    if sum(map(_critical, members)) > 1:
        return KeeperChoice(None, "the priority class of more than one is critical")
    left = list(members)
    for rank, why in _ORDER:
        ranks = [rank(each, uuid) for each in left]
        best = min(ranks, default=None)
        left = [each for each, found in zip(left, ranks, strict=True) if found == best]
        if len(left) == 1:
            return KeeperChoice(left[0], why)
        yield
    return KeeperChoice(None, "there is nothing to choose from")


_ORIGINS = {
    "restore": "it was restored from a snapshot",
    "backup": "it was restored from a backup",
    "manifest": "the manifest that was applied for it sets the UUID",
}


def message(group: SharedValue, member: Member, reason: str) -> str:
    """Without the UUID."""
    left = _left(group, member) if reason == "DuplicateEnding" else None
    return _TEXTS.message(
        reason,
        "left" if left is member else "other_left" if left is not None else "",
        kind=kind_word(member.ref.kind),
        others=named([each.key for each in group.others(member, 1)], group.count(member), most=1),
        left=left.key if left is not None else "",
    )


def next_step(group: SharedValue, member: Member, reason: str, proposal: KeeperChoice) -> str:
    """Empty where the reason says it."""
    if reason == "DuplicateEnding":
        left = _left(group, member)
        return _TEXTS.next(reason, "left", vm=left.key) if left is not None else ""
    if proposal.keeper is None:
        return _TEXTS.next(reason, "undecided")
    changed = to_be_changed(group, member, proposal)
    step = "recreate" if changed.vm is None else "keep" if changed is not member else "stop"
    return _TEXTS.next(reason, step, vm=changed.key, keeper=proposal.keeper.key)


def to_be_changed(group: SharedValue, member: Member, proposal: KeeperChoice) -> Member:
    """The member itself, unless it is proposed to keep the value: then one of the others, which runs if any does."""
    if proposal.keeper is not member:
        return member
    stay = [each for each in group.others(member, NAMED) if each.key not in group.ending]
    return next((each for each in stay if each.runs), next(iter(stay), member))


def _left(group: SharedValue, member: Member) -> Member | None:
    """The VM that was migrated away, by which the member's value will collide again if it is started."""
    if member in group.kept:
        return member
    return group.kept[0] if group.kept and not member.deleting else None


def acts(member: Member, standing: MemberRole, proposal: KeeperChoice) -> tuple[Act, ...]:
    """What the next step does to the member itself."""
    if standing is MemberRole.ENDS or proposal.keeper is member:
        return ()
    if member.vm is None:
        return (Act.END,)
    return (Act.STOP, Act.START) if member.runs else (Act.STOP,)


def facts(view: View, group: SharedValue, member: Member, proposal: KeeperChoice) -> dict[str, Any]:
    """The evidence. `changeLoses` names what another UUID would empty: such a VM must not be changed."""
    found = {
        "uuid": member.written or view.partition,
        "running": member.runs,
        "others": [_other(each) for each in group.others(member, NAMED)],
        "members": group.count(member) + 1,
        "hints": hints(view, group, member),
        "keeper": proposal.keeper.key if proposal.keeper else "",
        "keeperWhy": proposal.why,
        "changeLoses": "persistent TPM" if keeps_state(member) else "",
        "changeApplies": _applies(member),
    }
    return {name: fact for name, fact in found.items() if fact not in ("", [])}


def _other(member: Member) -> dict[str, Any]:
    since = member.started if member.runs else member.vm.stopped if member.vm else None
    found = {
        "name": member.key,
        "kind": member.ref.kind,
        "running": member.runs,
        "since": datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if since else "",
        "origin": member.vm.origin if member.vm else "",
    }
    return {name: fact for name, fact in found.items() if fact != ""}


def _applies(member: Member) -> str:
    if member.vm is None:
        return "never: the firmware of a VMI is immutable"
    if member.runs and member.vm.reboots_anew:
        return "on the next guest reboot"
    return "with the next start"


def hints(view: View, group: SharedValue, member: Member) -> list[str]:
    """Where the UUID may come from, in order."""
    return [text for text in (_origin(member), _template(group, member), _namesake(group, member, view)) if text] + (
        ["an update of its pool on KubeVirt 1.6.0 to 1.7.4 has replaced its own UUID with this one"]
        if pool_was_updated(view, member)
        else []
    )


def pool_was_updated(view: View, member: Member) -> bool:
    """Whether such an update may have removed a member's UUID: KubeVirt then derived one from its name."""
    vm = member.vm
    if vm is None or not vm.pool or not (vm.identity == view.partition == legacy(vm.name)):
        return False
    try:
        return any((1, 6) <= each.release < (1, 8) for each in view.all(KubeVirt))
    except UnseenError:
        return False


def _origin(member: Member) -> str:
    return _ORIGINS.get(member.vm.origin, "") if member.vm else ""


def _template(group: SharedValue, member: Member) -> str:
    made_by = _maker(member)
    others = group.others(member, NAMED)
    same = made_by and any(_maker(each) == made_by and _same_namespace(each, member) for each in others)
    return f"the template of {made_by} sets the UUID" if same else ""


def _maker(member: Member) -> str:
    if member.vm is not None:
        return f"VirtualMachinePool {member.vm.pool}" if member.vm.pool else ""
    return member.vmi.owner if member.vmi else ""


def _same_namespace(one: Member, other: Member) -> bool:
    return one.record.namespace == other.record.namespace


def _namesake(group: SharedValue, member: Member, view: View) -> str:
    name = member.record.name
    same = any(each.record.name == name for each in group.others(member, NAMED))
    return "KubeVirt derived it from their common name" if same and legacy(name) == view.partition else ""


# UUIDs that KubeVirt derived from a VM's name.


_SHARED = {MemberRole.RUNS_TOGETHER: "Duplicate", MemberRole.MAY_COLLIDE: "LatentDuplicate"}  # which say what to do


def _of_derived(shared: str, name: str) -> str:
    """What to do about a derived UUID: `shared` is the reason that says more, `name` that of another VM."""
    if shared:
        return _TEXTS.next("LegacyDerived", "shared", reason=shared)
    return _TEXTS.next("LegacyDerived", "other", name=name) if name else ""


def legacy_derived(view: View, group: SharedValue) -> Iterator[Finding | None]:
    """Of each member that has the UUID now, where it derives from its own or another VM's name.

    Not of one whose spec has no UUID: of that NotPersisted says that it is derived from the name, and to write it.
    """
    names = {_name(record) for record in view.sharing(LEGACY_NAME, view.partition)}
    for member in group.members:
        own = derived(view.partition, member.record.name)
        if (own or names) and not (own and _derives(member)) and not member.deleting and _has(view, member):
            of = member.record.name if own else min(names)
            standing = group.standing(member)
            shared = _SHARED.get(standing, "") if standing is not None else ""
            yield Finding(
                reason="LegacyDerived",
                severity=Severity.INFO,
                subject=member.ref,
                group=group_id(view.partition),
                message=_TEXTS.message(
                    "LegacyDerived", "" if own else "other", kind=kind_word(member.ref.kind), name=of
                ),
                next=_of_derived(shared, "" if own else of),
                evidence=_facts(view, group, member, of),
            )
        yield None


def _name(record: object) -> str:
    if isinstance(record, VirtualMachineSnapshotContent):
        return record.source
    return record.name if isinstance(record, VirtualMachine) else ""


def _derives(member: Member) -> bool:
    """Whether KubeVirt derives it at each start."""
    return member.vm is not None and not member.vm.uuid.strip()


def _has(view: View, member: Member) -> bool:
    """Whether this is what it has now, and not only what it starts with next."""
    if member.vm is None:
        return True
    vmi = view.named(VirtualMachineInstance, member.vm.namespace, member.vm.name)
    return effective(member.vm, owned(vmi, member.vm)) == view.partition


def _facts(view: View, group: SharedValue, member: Member, of: str) -> dict[str, object]:
    found: dict[str, object] = {"uuid": member.written or view.partition, "of": of, "hints": hints(view, group, member)}
    if member.vm is not None and not member.vm.serial:
        found["serial"] = "missing: it is older than KubeVirt 1.5.3, or its firmware was replaced without one"
    return {name: fact for name, fact in found.items() if fact}
