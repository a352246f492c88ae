"""What has to hold of a write that takes another one back: the world has gone on since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reconcile.plan.annotations import PAUSED
from reconcile.plan.effects import ABSENT, at
from reconcile.plan.plan import Op, Patch, Test

from .claims import Claims
from .copies import Copies
from .identity import Firmware, identifies
from .marked import MARKS, Marks
from .stashing import COPY, SIZE
from .world import Obj, World, meta_of
from .writer import Write

__all__ = ["Undone"]

_PAUSES = f"/metadata/annotations/{PAUSED.replace('/', '~1')}"


@dataclass
class Undone:
    """What a person has accepted to lose, by its word, is no violation."""

    world: World
    claims: Claims
    firmware: Firmware
    copies: Copies
    marks: Marks
    _after: dict[str, Obj | None] = field(default_factory=dict)  # what a write has left, by its attempt

    def wrote(self, write: Write) -> None:
        self._after[write.attempt] = write.after

    def of(self, write: Write) -> Iterator[tuple[str, str]]:
        accepted: tuple[str, ...] = write.plan.accepted if write.plan is not None else ()
        yield from self._put_back(write)
        if write.key[0] == "IPAMClaim" and write.before is not None and write.after is None:
            for invariant, what in self.claims.used(write.before, address="address" in accepted):
                yield f"undone: {invariant}", what
        elif write.plan is not None and write.plan.remediation in MARKS:
            yield from self.marks.back(write, accepted)
        elif write.key[0] == "VirtualMachine" and write.before is not None and write.after is not None:
            yield from self._firmware(write.before, write.after, write, accepted)
        elif write.key[0] == COPY and "copy" not in accepted and (write.after is None or _ends(write)):
            for who in self.copies.needing(write.key[2]):
                yield "undone: what is needed stays", f"{who} needs it"
        elif write.key[0] == SIZE and write.after is None and "copy" not in accepted:
            for who in self.copies.depending(write.key[2]):
                yield "undone: what is needed stays", f"{who} has no copy of it"

    def _put_back(self, write: Write) -> Iterator[tuple[str, str]]:
        """Over a change of somebody else: of what it takes away nobody has changed anything."""
        step = write.plan.step if write.plan is not None else None
        left = self._after.get(write.undoes)
        if left is None or not isinstance(step, Patch):
            return
        for op in step.ops:
            if not isinstance(op, Test) and not _pauses(op):
                path = _whole_list(op.path, left)
                found, was = at(write.before, path), at(left, path)
                if found != was:
                    yield "undone: others' changes stay", f"{path} is {found!r}, and was left as {was!r}"

    def _firmware(self, before: Obj, after: Obj, write: Write, accepted: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        old, new = self.firmware.next_of(before), self.firmware.next_of(after)
        if old == new:
            return
        name = meta_of(before)["name"]
        others = sorted(self.firmware.having(new, name, write.began))
        if others and identifies(new) and "uniqueness" not in accepted:
            yield "undone: its own", f"it gets {new}, which {others[0]} has"
        if self.firmware.has_seen(name, old) and "identity" not in accepted:
            yield "undone: identity in use", f"its guest knows {old}, and would see {new}"


def _ends(write: Write) -> bool:
    """Whether garbage collection or KubeVirt deletes a copy for what was put back: an owner that is gone, no labels."""
    had, has = (meta_of(each or {"metadata": {}}) for each in (write.before, write.after))
    gone = any(each["uid"] == "u-earlier" for each in has.get("ownerReferences") or ())
    return gone or bool((had.get("labels") or {}) and not has.get("labels"))


def _pauses(op: Op) -> bool:
    return op.path == _PAUSES or (op.path == "/metadata/annotations" and set(_map(op)) == {PAUSED})


def _map(op: Op) -> Mapping[str, object]:
    value = getattr(op, "value", ABSENT)
    return value if isinstance(value, Mapping) else {}


def _whole_list(path: str, left: Obj) -> str:
    """A list in which others may have written too is meant as a whole."""
    parent, _, last = path.rpartition("/")
    return parent if isinstance(at(left, parent), list) or last == "-" else path
