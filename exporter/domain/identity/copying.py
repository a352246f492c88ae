"""What JSON patches change of that by which a copied VM is known: its UUID, serial and MAC addresses.

KubeVirt takes the patches of a VirtualMachineRestore and of a VirtualMachineClone as texts, one operation each
(staging/src/kubevirt.io/api/snapshot and .../clone of kubevirt/kubevirt).
"""

from __future__ import annotations

import msgspec

DOMAIN = "/spec/template/spec/domain"
Changes = tuple[tuple[str, str | None], ...]
"""JSON pointers at or above what they change, each with the text that is there then; None for anything else."""

_MOST = 100  # operations, of which anybody may write as many as they like
_SETS = ("add", "replace")


class _Op(msgspec.Struct):
    op: str
    path: str
    value: object = None


def changes_of(patches: list[str | None] | None) -> Changes:
    """In the order of the patches; one that can't be read may change anything."""
    found: list[tuple[str, str | None]] = []
    for text in (patches or ())[:_MOST]:
        try:
            op = msgspec.json.decode(text or "", type=_Op)
        except msgspec.DecodeError:
            found.append(("", None))
            continue
        if op.op != "test":
            sets = op.op in _SETS and isinstance(op.value, str)
            found.append((op.path, op.value if sets else "" if op.op == "remove" else None))  # type: ignore[arg-type]
    return tuple(found)


def after(changes: Changes, path: str, now: str) -> str | None:
    """What is at a path once the patches were applied; None where that is not known."""
    value: str | None = now
    for changed, text in changes:
        if changed == path:
            value = text
        elif path.startswith(f"{changed}/"):
            value = None
    return value
