"""How many objects a text or a list names: a few, and how many there are beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NAMED = 10  # objects that one list of a finding or report names
LONGEST = 253  # characters of a name


def named(things: Sequence[object], count: int | None = None, most: int = 5) -> str:
    """`a, b, c, d, e and 37 more`; `count` is of all, where these are only some."""
    shown = things[:most]
    more = (len(things) if count is None else count) - len(shown)
    return ", ".join(map(str, shown)) + (f" and {more:,} more" if more > 0 else "")


def listed(key: str, things: Sequence[object]) -> dict[str, Any]:
    """Evidence of a list that may be long: the first of it, and how many there are where that is not all."""
    more = {f"{key}InAll": len(things)} if len(things) > NAMED else {}
    return {key: list(things[:NAMED]), **more}


_SHORT = {
    "VirtualMachine": "VM",
    "VirtualMachineInstance": "VMI",
    "VirtualMachineInstanceReplicaSet": "replica set",
    "VirtualMachinePool": "pool",
    "NetworkAttachmentDefinition": "NAD",
    "PodDisruptionBudget": "PDB",
    "Pod": "pod",
    "Node": "node",
}


def kind_word(kind: str) -> str:
    """What people call an object of this kind: `VM`, `NAD`, `IPAMClaim`."""
    return _SHORT.get(kind, kind)


def counted(number: int, noun: str) -> str:
    """`1 VM`, `12 VMs`, `2,501 policies`."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """`VMs`, `policies`, `StorageClasses`."""
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def the(kind: str) -> str:
    """`The VM`, to begin a sentence with about an object of this kind whose name stands beside it."""
    return f"The {kind_word(kind)}"


def subject_first(kind: str, clause: str) -> str:
    """A clause about an object of this kind, which may call it `it`: as a text that begins with a noun."""
    first, _, rest = clause.partition(" ")
    if first == "it":
        return f"{the(kind)} {rest}"
    if first == "its":
        return f"{the(kind)}'s {rest}"
    return clause[:1].upper() + clause[1:] if first.isalpha() and first.islower() else clause


def sentence(text: str) -> str:
    """With a full stop, unless it ends already."""
    return text if not text or text.endswith((".", "?", "!", "…")) else f"{text}."


def shortened(text: str, most: int = LONGEST) -> str:
    """Text in which the API server takes more than a name can have; what is cut off makes it the name of nothing."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
