"""How many objects a text or a list names: a few, and how many there are beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

NAMED = 10  # objects that one list of a finding or report names
LONGEST = 253  # characters of a name


def named(things: Sequence[object], count: int | None = None, most: int = 5) -> str:
    """`a, b, c, d, e and 37 more`; `count` is of all, where these are only some."""
    shown = things[:most]
    more = (len(things) if count is None else count) - len(shown)
    return ", ".join(map(str, shown)) + (f" and {more:,} more" if more > 0 else "")


def joined(words: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, end = words
    return f"{', '.join(first)} {last} {end}" if first else end


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


# Characters that nobody sees, or that turn the direction of what follows: by them a name could pass for another.
#
# They are those that Python does not print, but for spaces, and the printed ones that Unicode wants shown as nothing
# (Default_Ignorable_Code_Point), such as variation selectors and Hangul fillers, and the blank of Braille.

_SPACES = frozenset("\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000")
_IGNORED = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_DOUBTFUL = re.compile("[^ -~\n\t]")
_FORMULA = ("=", "+", "-", "@")  # with which a spreadsheet takes a cell for one


def is_seen(character: str) -> bool:
    printed = character.isprintable() or character in _SPACES
    return printed and not _IGNORED.match(character)


def written_out(text: str, spelled: Callable[[str], str]) -> str:
    """The text with what nobody sees as it is `spelled`; line breaks and tabs stay."""
    return _DOUBTFUL.sub(lambda found: found[0] if is_seen(found[0]) else spelled(found[0]), text)


def json_written_out(text: str) -> str:
    """The same of a text in JSON, which says the same afterwards."""
    return text if text.isascii() and "\x7f" not in text else written_out(text, _in_json)


def cell(text: str) -> str:
    """The text as one of CSV: in one line, with what nobody sees written out, and no formula."""
    shown = written_out(text, _in_json).replace("\n", "\\n").replace("\t", "\\t")
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def _in_json(character: str) -> str:
    return json.dumps(character)[1:-1]


# Texts with words in capitals, such as NAMESPACE, that stand for values.

_WORD = re.compile(r"\b([A-Z][A-Z0-9]+)\b")
_PLAIN = re.compile(r"[\w.:/@%+=,-]+")  # what no shell and no JSON reads anything into


def filled(template: str, values: Mapping[str, str]) -> str:
    """The text with its words in capitals replaced by values; a value that a shell could read something into is not
    put in, so that a hostile name can't become a command."""
    parts = list(_split(template))
    for at in range(1, len(parts), 2):
        found = values.get(parts[at], "")
        if found and _PLAIN.fullmatch(found):
            parts[at] = found
    return "".join(parts)


@lru_cache(4096)
def _split(template: str) -> tuple[str, ...]:
    """The text around the words and the words, in turn; the text comes first."""
    return tuple(_WORD.split(template))
