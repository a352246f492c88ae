"""What a finding on a shared UUID says: who the others are, how it may have come about, and which one to change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ....domain.acts import Act
from ....domain.identity.firmware import legacy
from ....findings.check import View
from ....store.kinds.kube_virt import KubeVirt
from ....store.record import UnseenError
from ....store.text.naming import NAMED, named, the
from .keeper import KeeperChoice, keeps_state
from .members import Member, MemberRole, SharedValue

_ORIGINS = {
    "restore": "it was restored from a snapshot",
    "backup": "it was restored from a backup",
    "manifest": "the manifest that was applied for it sets the UUID",
}


def message(group: SharedValue, member: Member, standing: MemberRole) -> str:
    """One sentence, without the UUID."""
    what = the(member.ref.kind)
    who = named([each.key for each in group.others(member, 1)], group.count(member), most=1)
    if standing is MemberRole.ENDS:
        shares = f"{what} shares its firmware UUID with {who}"
        if member in group.kept:
            return f"{shares}: the former was migrated away, and would collide again if it were started"
        if group.kept and not member.deleting:
            return f"{shares}: {group.kept[0].key} was migrated away, and would collide again if it were started"
        return f"{shares}, until one of them is gone"
    if standing is MemberRole.RUNS_TOGETHER:
        return f"{what} runs with the same firmware UUID as {who}"
    return f"{what} has the same firmware UUID as {who}, and must not run at the same time"


def next_step(group: SharedValue, member: Member, standing: MemberRole, proposal: KeeperChoice) -> str:
    """Empty where the reason says it."""
    if standing is MemberRole.ENDS:
        if not group.kept or (member.deleting and member not in group.kept):
            return ""
        source = group.kept[0] if member not in group.kept else member
        return f"Delete VM {source.key}, or give it a new UUID before it is started: nothing else removes it."
    if proposal.keeper is None:
        return f"Decide with their owners which one keeps the UUID, since {proposal.why}."
    if proposal.keeper is member:
        keep = f"Leave {member.key} as it is and give the others a new UUID"
        return f"{keep}: it should keep this one, since {proposal.why}."
    keeps = f"{proposal.keeper.key} should keep the old one, since {proposal.why}"
    if member.vm is None:
        return f"Delete the VMI and create it again without a UUID; {keeps}."
    return f"Stop VM {member.key} and give it a new UUID; {keeps}."


def acts(member: Member, standing: MemberRole, proposal: KeeperChoice) -> tuple[Act, ...]:
    """What the next step does to the member itself."""
    if standing is MemberRole.ENDS or proposal.keeper is member:
        return ()
    return (Act.END,) if member.vm is None else (Act.STOP,)


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
