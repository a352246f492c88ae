"""Holds the ledger to the cluster that it is of, and to the Lease, which has how far it goes.

Each renewal of the Lease carries the number and the sum of the ledger's last entry, and right before a write it is
renewed. It is bound to the Lease as it was read, and made only if the entry that the Lease has is one of ours. So an
older copy of the ledger, one that lost its end or was rewritten, or another one is noticed, and no write follows.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from exporter.kube.errors import KubeError, MalformedError
from exporter.store.kinds import namespace

from ..ledger import Head, Ledger, LedgerError
from ..plan.annotations import ACCEPT as ACCEPTED
from ..plan.annotations import PREFIX
from ..plan.requests import metadata
from .fresh_reads import Reads, document
from .lease_record import WithheldError

log = logging.getLogger(__name__)
LEDGER = "ledger"  # the Lease's annotation, without its prefix
ACCEPT = ACCEPTED.removeprefix(PREFIX)
_SYSTEM = "kube-system"
_AGAIN = 10.0  # seconds
_CODED = re.compile(r"([0-9a-f]{1,64}) ([0-9]{1,15}) ([0-9a-f]{64}|-)")
_ACCEPTED = re.compile(r"([0-9]{1,15})-([0-9a-f]{16})(?: by (.{1,500}))?", re.DOTALL)


def encoded(head: Head) -> str:
    return f"{head.ledger} {head.seq} {head.sum or '-'}"


def decoded(text: str) -> Head | None:
    """None for what nobody of us wrote."""
    found = _CODED.fullmatch(text)
    return Head(found[1], int(found[2]), found[3].strip("-")) if found else None


def token(head: Head) -> str:
    """Names a ledger as it is, for whoever accepts it."""
    return f"{head.seq}-{(head.sum or head.ledger)[:16]}"


async def cluster_uid(reads: Reads) -> str:
    """What tells clusters apart: the UID of the namespace kube-system, which every cluster has. Raises KubeError."""
    kind = namespace.KIND
    raw = await reads.get(kind, await reads.served(kind), "", _SYSTEM)
    uid = metadata(document(raw)).get("uid") if raw is not None else ""
    if not isinstance(uid, str) or not uid:
        raise MalformedError(f"namespace {_SYSTEM}, whose UID tells clusters apart, has none or does not exist")
    return uid


def misfit(said: str | None, head: Head, sum_at: Callable[[int], str | None], directory: Path) -> str:
    """Why a ledger is not the one that the Lease was last held with, one sentence; empty where it is.

    `said` is the Lease's annotation, `sum_at` gives the sum of an entry by its number. Raises LedgerError.
    """
    where = f"the ledger in {directory}"
    if said is None:
        return (
            f"{where} was written under a Lease up to entry {head.seq}, but the Lease no longer names a ledger: "
            "entries might be missing"
        )
    expected = decoded(said)
    if expected is None:
        return f"annotation {PREFIX}{LEDGER} of the Lease can't be read: {where} might be incomplete"
    if not expected.seq and (not head.seq or head.ledger == expected.ledger):
        return ""  # nothing was recorded when the Lease was held
    if not head.seq:
        return f"{where} is empty, but the Lease was held with ledger {expected.ledger} up to entry {expected.seq}"
    if expected.ledger != head.ledger:
        return f"{where} is {head.ledger}, but the Lease was held with ledger {expected.ledger}"
    if expected.seq > head.seq:
        return (
            f"{where} ends with entry {head.seq}, but the Lease was held with it up to entry {expected.seq}: "
            "it is an older copy, or lost its end"
        )
    found = sum_at(expected.seq)
    if found is None:
        return f"{where} no longer has entry {expected.seq}, up to which the Lease was held with it"
    if found != expected.sum:
        return f"entry {expected.seq} of {where} was rewritten since the Lease was held with it"
    return ""


class LedgerInLease:
    """`travelling` is for the election, which asks it for what to write to the Lease."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._unknown = ledger.refused = "the UID of the cluster hasn't been read yet. Nothing is recorded before"
        self._held = False  # whether this process has held the Lease with it
        self._ours: deque[str] = deque(maxlen=4)  # what was found to fit last, or is to be written

    async def identify(self, reads: Reads, *, once: bool = False) -> None:
        """Until the ledger is known to be of this cluster; with `once` it is tried once."""
        while self._unknown:
            try:
                self._ledger.belong(await cluster_uid(reads))
                self._unknown = self._ledger.refused = ""
                return
            except KubeError as error:
                self._refuse(f"can't read the UID of the cluster for the ledger in {self._ledger.directory}: {error}")
            except LedgerError as error:
                self._refuse(str(error))
            self._unknown = self._ledger.refused
            if once:
                return
            await asyncio.sleep(_AGAIN)

    def travelling(self, seen: Mapping[str, str]) -> dict[str, str | None]:
        """What the Lease is to have of the ledger, by what it has now: its annotations without their prefix.

        Raises WithheldError where the ledger does not fit it.
        """
        if self._unknown:
            raise WithheldError(self._unknown)
        said = seen.get(LEDGER)
        try:
            why = self._misfit(said)
            if why and not self._accepted(seen.get(ACCEPT), why):
                self._refuse(f"{why}. {self._advice()}")
                raise WithheldError(self._ledger.refused)
        except LedgerError as error:
            self._refuse(str(error))
            raise WithheldError(str(error)) from error
        if self._ledger.refused:
            log.info('event="ledger matched" directory="%s"', self._ledger.directory)
            self._ledger.refused = ""
        self._held, head = True, self._ledger.head
        travels: dict[str, str | None] = {LEDGER: encoded(head)}
        self._ours.extend(each for each in (said, encoded(head)) if each and each not in self._ours)
        return {**travels, ACCEPT: None} if ACCEPT in seen else travels

    def _misfit(self, said: str | None) -> str:
        if self._held and (said is None or said in self._ours):
            return ""  # nobody else wrote it; a Lease that says nothing was made anew under us
        if said is None and not self._ledger.led:
            return ""  # the first start, or the first one of a version that writes to the Lease
        return misfit(said, self._ledger.head, self._ledger.sum_at, self._ledger.directory)

    def _accepted(self, text: str | None, why: str) -> bool:
        """Whether somebody accepts the ledger as it is. An entry then says so."""
        found = _ACCEPTED.fullmatch(text or "")
        if found is None:
            return False
        seq, head = int(found[1]), self._ledger.head
        there = self._ledger.sum_at(seq) if seq else head.ledger
        if there is None or there[:16] != found[2]:
            return False
        self._ledger.accept(by=found[3] or "", why=why)
        log.warning('event="ledger accepted" by="%s" why="%s"', found[3] or "", why)
        return True

    def _advice(self) -> str:
        return (
            "Mount the ledger that the Lease was held with. Only if that ledger is lost, accept this one as it is: "
            f"steward reconcile ledger --accept {token(self._ledger.head)}"
        )

    def _refuse(self, why: str) -> None:
        if why != self._ledger.refused:
            log.error('event="ledger rejected" why="%s"', why)
        self._ledger.refused = why
