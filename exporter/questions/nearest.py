"""What somebody may have meant by a name that nothing has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from heapq import nlargest

_COMPARED = 100  # names
_LONGEST = 253  # characters of a name
_LIKE, _LESS_LIKE = 0.6, 0.5  # of 1; the less like it begins with its letter
_NAMED = 5


def nearest(name: str, known: Iterable[str]) -> str:
    """The one that is most like it; empty where none is like it. Of names with a namespace that is the same name in
    another one, then what is most like it in its own, then anywhere.
    """
    there = list(known)
    namespace, slash, own = name.rpartition("/")
    if not any("/" in each for each in there):
        return _likest(name, there)
    if same := [each for each in there if each.rpartition("/")[2] == own]:
        return min(same)
    if slash:
        beside = [each.removeprefix(f"{namespace}/") for each in there if each.startswith(f"{namespace}/")]
        if found := _likest(own, beside):
            return f"{namespace}/{found}"
    found = _likest(own, {each.rpartition("/")[2] for each in there})
    return min((each for each in there if found and each.rpartition("/")[2] == found), default="")


def _likest(name: str, known: Iterable[str]) -> str:
    """Of very many only those that begin most like it are compared, which takes long for each."""
    some = nlargest(_COMPARED, known, key=lambda each: _alike(each, name))
    wanted = shortened(name)
    close = difflib.get_close_matches(wanted, some, 1, cutoff=_LIKE)
    if not close:
        begun = [each for each in some if each[:1] == wanted[:1]]
        close = difflib.get_close_matches(wanted, begun, 1, cutoff=_LESS_LIKE)
    return next(iter(close), "")


def meant(name: str, known: Iterable[str], nouns: str) -> str:
    """What follows on a sentence that nothing has the name: the one that may be meant, else some that there are."""
    there = sorted(set(known))
    if close := nearest(name, there):
        return f"did you mean {close}?"
    if not there:
        return f"there are no {nouns}"
    more = len(there) - _NAMED
    return f"there are {', '.join(there[:_NAMED])}{f' and {more} more' if more > 0 else ''}"


def shortened(name: str) -> str:
    """As much of it as a name can have."""
    return name[:_LONGEST]


def _alike(one: str, other: str) -> int:
    """The length of what both begin with."""
    return next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))
