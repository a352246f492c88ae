"""What a VM's instancetype and preference add to its spec, for whoever asks what the VM requests.

An instancetype gives, and where the template sets the same it conflicts; a preference fills in what was left open. What
the two can request is in specs.py; what no request can come from is not read.
"""

from __future__ import annotations

import msgspec

from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.virtual_machine import VirtualMachine
from . import specs
from .matching import ROLES, MatcherRole
from .resolving import Find, Resolution, resolve, undecodable


class Contributions(msgspec.Struct, frozen=True):
    """`instancetype` and `preference` are None where the VM has none; those in `unresolved` it has, and KubeVirt can't
    tell what they say either.
    """

    instancetype: specs.Instancetype | None
    preference: specs.Preference | None
    unresolved: tuple[MatcherRole, ...]
    texts: tuple[str | None, str | None] = (None, None)  # of both, as they are kept


def contributions(vm: VirtualMachine, find: Find, kubevirt: KubeVirt | None = None) -> Contributions:
    """As KubeVirt would start the VM now."""
    release = kubevirt.release if kubevirt is not None else (0, 0)
    texts = {role: _text(resolve(vm, role, find, kubevirt), release) for role in ROLES}
    sized, tuned = texts[MatcherRole.INSTANCETYPE], texts[MatcherRole.PREFERENCE]
    return Contributions(
        specs.instancetype(sized) if sized is not None else None,
        specs.preference(tuned) if tuned is not None else None,
        tuple(role for role, text in texts.items() if text is None and _wanted(vm, role)),
        (sized, tuned),
    )


def _wanted(vm: VirtualMachine, role: MatcherRole) -> bool:
    wanted = vm.instancetype if role is MatcherRole.INSTANCETYPE else vm.preference
    return wanted is not None and wanted.wanted


def _text(resolution: Resolution | None, release: tuple[int, int]) -> str | None:
    if resolution is None:
        return None
    revision = resolution.revision
    if revision is not None and undecodable(revision, resolution.role, release):
        return None
    return resolution.spec
