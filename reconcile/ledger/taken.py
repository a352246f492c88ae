"""Which write of the ledger an attempt made, and whether it is one that can be taken back. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..plan.undo import Taken
from .entry import Entry, Event


def taken(entries: Iterable[Entry], attempt: str) -> Taken:
    """The write of an attempt, by the entries of the ledger in their order.

    Raises ValueError, one sentence, for an attempt that is not there, is not over, wrote nothing, took back another one
    itself, or was taken back before.
    """
    intended: Entry | None = None
    ends: dict[str, Entry | None] = {}  # of the attempt, and of those that take it back; None while it is not over
    for entry in entries:
        if entry.event is Event.INTENDED and attempt in (entry.attempt, entry.undoes):
            intended = entry if entry.attempt == attempt else intended
            ends[entry.attempt] = None
        elif entry.attempt in ends and entry.event in (Event.DONE, Event.FAILED, Event.RESOLVED):
            ends[entry.attempt] = entry
    if intended is None or intended.plan is None:
        raise ValueError(f"the ledger has no attempt {attempt}; `steward reconcile ledger` lists them")
    if intended.undoes:
        again = "to have that once more, repair it again: `steward reconcile plan`"
        raise ValueError(f"attempt {attempt} took back attempt {intended.undoes}; {again}")
    end = ends.pop(attempt)
    if end is None:
        raise ValueError(f"attempt {attempt} is not over: {_NOT_OVER}")
    if end.event is Event.RESOLVED and end.happened is None:
        raise ValueError(f"it is not known whether attempt {attempt} changed anything: {end.why}")
    if not _happened(end):
        raise ValueError(f"attempt {attempt} changed nothing, as far as the ledger knows")
    for undo, its_end in ends.items():
        if its_end is None:
            raise ValueError(f"attempt {undo}, which takes back attempt {attempt}, is not over: {_NOT_OVER}")
        if _happened(its_end):
            raise ValueError(f"attempt {attempt} was taken back before; see `steward reconcile ledger {attempt}`")
    return Taken(attempt=attempt, plan=intended.plan, before=intended.whole or {}, after=end.whole)


def _happened(entry: Entry) -> bool:
    return entry.event is Event.DONE or (entry.event is Event.RESOLVED and bool(entry.happened))


_NOT_OVER = (
    "whether it was written is not known yet; the sidecar, and after a person's command the next `apply` or `undo`, "
    "reads the object once the write can't arrive any more, and writes into the ledger what came of it"
)
