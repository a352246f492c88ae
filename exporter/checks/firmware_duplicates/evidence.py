"""What a finding on a shared UUID says: of the others, how it may have come about, and which one to change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ...model.firmware import legacy
from ...model.kinds.kube_virt import KubeVirt
from ..base import View
from .keeper import Proposal, keeps_state
from .members import Group, Member, Standing

__all__ = ["NAMED", "facts", "hints", "message"]

NAMED = 10  # others that evidence names
_ORIGINS = {
    "restore": "it was restored from a snapshot",
    "backup": "it was restored from a backup",
    "manifest": "the manifest that was applied for it sets the UUID",
}


def message(group: Group, member: Member, standing: Standing, proposal: Proposal) -> str:
    """One sentence, without the UUID: it names whom to look at, and what to do next."""
    count, first = group.count(member), group.others(member, 1)[0].key
    who = first if count == 1 else f"{first} and {count - 1} more"
    if standing is Standing.ENDS:
        return f"it shares its firmware UUID with {who}, until one of them is gone: nothing to do"
    if standing is Standing.RUNS_TOGETHER:
        return f"it runs with the firmware UUID of {who}: {_next_step(member, proposal)}"
    return f"it has the firmware UUID of {who}, and must not run beside it: {_next_step(member, proposal)}"


def _next_step(member: Member, proposal: Proposal) -> str:
    if proposal.keeper is None:
        return f"decide which one keeps it, since {proposal.why}"
    if proposal.keeper is member:
        return f"this one should keep it, since {proposal.why}"
    if member.vm is None:
        return f"make this one anew without a UUID; {proposal.keeper.key} should keep it, since {proposal.why}"
    return f"give this one another; {proposal.keeper.key} should keep it, since {proposal.why}"


def facts(view: View, group: Group, member: Member, proposal: Proposal) -> dict[str, Any]:
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
        return "never: a VMI can't be changed"
    if member.runs and member.vm.reboots_anew:
        return "on the next guest reboot"
    return "with the next start"


def hints(view: View, group: Group, member: Member) -> list[str]:
    """How it may have come by the UUID, in order."""
    return [text for text in (_origin(member), _template(group, member), _namesake(group, member, view)) if text] + (
        ["an update of its pool by KubeVirt 1.6.0 to 1.7.4 has put this in the place of its own"]
        if pool_was_updated(view, member)
        else []
    )


def pool_was_updated(view: View, member: Member) -> bool:
    """A.4: such an update took the UUID of a member away, and KubeVirt then made one of its name."""
    versions = [each.release for each in view.all(KubeVirt)]
    return (
        member.vm is not None
        and bool(member.vm.pool)
        and member.vm.identity == view.partition == legacy(member.vm.name)
        and any((1, 6) <= release < (1, 8) for release in versions)
    )


def _origin(member: Member) -> str:
    return _ORIGINS.get(member.vm.origin, "") if member.vm else ""


def _template(group: Group, member: Member) -> str:
    made_by = _maker(member)
    others = group.others(member, NAMED)
    same = made_by and any(_maker(each) == made_by and _extra_keys(each, member) for each in others)
    return f"the template of {made_by} sets the UUID" if same else ""


def _maker(member: Member) -> str:
    if member.vm is not None:
        return f"VirtualMachinePool {member.vm.pool}" if member.vm.pool else ""
    return member.vmi.owner if member.vmi else ""


def _extra_keys(one: Member, other: Member) -> bool:
    return one.record.namespace == other.record.namespace


def _namesake(group: Group, member: Member, view: View) -> str:
    name = member.record.name
    same = any(each.record.name == name for each in group.others(member, NAMED))
    return "KubeVirt made it of their common name" if same and legacy(name) == view.partition else ""
