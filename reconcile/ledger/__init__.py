"""The ledger: what was about to be written, what came of it, and what an object was before. Append-only, on disk.

    ledger = Ledger.open(directory, clock=time.time)
    intended = ledger.append(Event.INTENDED, plan=plan, mode="approve", by="admin", whole=before, request=request)
    ...
    ledger.append(Event.DONE, attempt=intended.attempt, whole=after)

An entry is on disk when `append` returns. Lines are chained by checksums over all files, `ledger-000001.jsonl` and on.
The first line of a file says whose ledger it is, and carries what is needed of the files before it.
"""

from .entry import Counted, Entry, Event, Head, LedgerError, LedgerLockedError
from .files import Retention
from .ledger import Ledger
from .proving import prove, verify
from .reading import newest_first

__all__ = [
    "Counted",
    "Entry",
    "Event",
    "Head",
    "Ledger",
    "LedgerError",
    "LedgerLockedError",
    "Retention",
    "newest_first",
    "prove",
    "verify",
]
