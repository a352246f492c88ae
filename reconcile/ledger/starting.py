"""What a start learns of a ledger: the newest file is read line by line, and the others are summed up."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import NamedTuple

from .disk import Disk
from .entry import Entry, Event, LedgerError
from .open_items import OpenItems
from .reading import Chain, Extent, extent, files, missing
from .recovery import recovered
from .shelf import Identity, Shelf, altered, firsts, identity, opening, sum_of, sums


class Start(NamedTuple):
    """`stated` is whether a file states whose the ledger is, `led` whether something was written under a Lease since,
    `unproven` the SHA-256 of files that no later one has.
    """

    wanted: Extent
    whose: Identity
    stated: bool
    led: bool
    shelf: Shelf
    items: OpenItems
    chain: Chain
    unproven: dict[int, str]


def under_lease(entry: Entry) -> bool:
    """Whether it is of a write for which the Lease had to be held: it then had the ledger's last entry."""
    return entry.event is Event.INTENDED and entry.mode in ("approve", "auto")


def start(directory: Path, disk: Disk) -> Start:
    """All that is there is proven. Raises LedgerError, and OSError for what can't be written."""
    there, wanted = files(directory), extent(directory)
    if gone := missing(there, wanted, directory):
        raise LedgerError(gone[0])
    found = dict(firsts(there))
    whose, stated = identity(found, wanted, directory)
    proofs = sums(found)
    if wrong := next(altered(there, proofs), ""):
        raise LedgerError(wrong)
    rest = {number: path for number, path in there.items() if number not in proofs}
    opens = opening(found[min(rest)].path) if rest and min(rest) in found else None
    items, chain = OpenItems(opens.unfinished if opens is not None else ()), Chain()
    led = opens is not None and opens.led
    states = opens is not None
    for entry, _ in recovered(rest, disk, chain):
        items.take(entry)
        states = states or entry.opens is not None
        led = led or (states and under_lease(entry))
    whose = Identity(whose.ledger or secrets.token_hex(8), whose.cluster)
    unproven = {number: sum_of(path) for number, path in rest.items() if number != max(there)}
    shelf = Shelf(dict(firsts(there)))  # anew: half a line may have been moved aside
    return Start(wanted, whose, stated, led, shelf, items, chain, unproven)
