"""Annotations: free text, which anybody who may write an object fills as he likes.

One that can't be read is a fact of its object, and costs no other fact: the record keeps what could be read, and says
in `unreadable` what not. Who needs what is missing gets an UnreadableFactError, and has no answer for that object.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from .nesting import misfit, whole
from .record import Unreadable, epoch

T = TypeVar("T")

Note = Any
"""The value of an annotation as it comes: text, or in a dump anything at all."""

Faults = list[Unreadable]

_LONGEST = 200  # characters kept of why


def text(name: str, value: Note, faults: Faults) -> str:
    """The text of an annotation; empty for none, and for what is not text."""
    if value is None or isinstance(value, str):
        return value or ""
    faults.append(Unreadable(name, f"it is not text but {type(value).__name__}"))
    return ""


def read(name: str, value: Note, decoder: msgspec.json.Decoder[T], faults: Faults) -> T | None:
    """What the JSON in an annotation says; None for none, and for what can't be read."""
    written = text(name, value, faults)
    if not written:
        return None
    try:
        return whole(written, decoder)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        faults.append(Unreadable(name, misfit(error)[:_LONGEST]))
        return None


def moment(name: str, value: Note, faults: Faults) -> float | None:
    """The time in an annotation, in seconds since 1970; None for none, and for what is not a time."""
    written = text(name, value, faults)
    try:
        return epoch(written)
    except ValueError as error:
        faults.append(Unreadable(name, misfit(error)[:_LONGEST]))
        return None
