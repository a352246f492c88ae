"""What users get to know of instancetypes and preferences."""

from __future__ import annotations

import msgspec

from ...store.record import Ref


class CopyReport(msgspec.Struct, frozen=True, rename="camel"):
    """The copies of one generation of an object; `fields` are those in which the live object differs."""

    generation: int
    uid: str
    vms: int
    fields: tuple[str, ...]


class InstancetypeReport(msgspec.Struct, frozen=True, rename="camel"):
    """`state` is present, missing, or unknown where it can't be read whether it is there.

    Of its `vms`, by mode in `users`, `dependents` have no copy and fail without it, `safe` have one, `broken` have one
    that KubeVirt does not find or can't decode. `pools` are those whose next VMs fail without it, None while pools
    can't be seen. `drifted` VMs have a copy that differs, `fields` counts them by what differs.

    It is not `complete` while an object is undecodable that may refer to it.
    """

    role: str
    kind: str
    namespace: str
    name: str
    state: str
    deprecated: bool
    deleting_since: str
    vms: int
    users: dict[str, int]
    safe: int
    broken: int
    dependents: int
    first_dependents: tuple[Ref, ...]
    pools: int | None
    first_pools: tuple[Ref, ...]
    revisions: int
    drifted: int
    fields: dict[str, int]
    copies: tuple[CopyReport, ...]
    complete: bool
    findings: dict[str, int]

    @property
    def path(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Instancetypes(msgspec.Struct, frozen=True, rename="camel"):
    """`unseen` says which kinds can't be seen; `objects` are left out where their counts would be wrong, and where the
    cluster does not serve them, which `not_applicable` says. `inferred` counts the VMs, by role, for which the object
    is still to be inferred from a volume.
    """

    generation: int
    unseen: tuple[str, ...]
    not_applicable: str
    inferred: dict[str, int]
    objects: tuple[InstancetypeReport, ...]
