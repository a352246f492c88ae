"""Whether what an API server took of a sidecar was right, and whether the sidecar's ledger says the same.

Entries' times are those of a clock that is `ahead` of the audit log's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reconcile.ledger import Entry, Event
from tests.kubevirt.audit_history import AuditHistory, Taken
from tests.kubevirt.write_rules import broken

__all__ = ["Verdict", "unfinished"]

OURS = ("selfsubjectreviews",)
SETTLES = (Event.DONE, Event.FAILED, Event.RESOLVED)
CALLED = "subresources.kubevirt.io"
_VERSION = ("apiVersion", "kind")
SENT = 6.0  # seconds from the entry of an intended write to its arrival, at most


def unfinished(entries: Sequence[Entry]) -> set[str]:
    """The attempts without an end."""
    ended = {each.attempt for each in entries if each.event in SETTLES}
    return {each.attempt for each in entries if each.event is Event.INTENDED} - ended


@dataclass
class Verdict:
    """`by` is the sidecar's account, `namespace` the one that it repairs in, empty for all: elsewhere others than the
    sidecar call evacuations off. `wrong` has a sentence for each thing that was not right.
    """

    history: AuditHistory
    entries: Sequence[Entry]
    by: str
    ahead: float = 0.0
    namespace: str = ""
    counts: Counter[str] = field(default_factory=Counter)  # writes, by remediation
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._intended = [each for each in self.entries if each.event is Event.INTENDED and each.request is not None]
        taken: Counter[str] = Counter()
        for write in self.history.writes:
            if write.by == self.by and not write.dry and write.key[1] not in OURS:
                found = self._called(write) if write.key[0] == CALLED else self._entry(write)
                if found is not None:
                    taken[found.attempt] += 1
                    self.counts[found.plan.remediation if found.plan is not None else "none"] += 1
                if found is not None or write.key[0] != CALLED:
                    self.wrong += [f"{write} {what}" for what in self._broken(write, found)]
        self.wrong += self._uncalled()
        self.wrong += self._untrue(taken)

    def _entry(self, write: Taken) -> Entry | None:
        """The last one before the write, of those with this request: what is created again and again is the same."""
        same = [each for each in self._intended if _same(each.request or {}, write)]
        before = [each for each in same if each.at - self.ahead <= write.at]
        return before[-1] if before else next(iter(same), None)

    def _called(self, write: Taken) -> Entry | None:
        """What went through to KubeVirt's API server is in the audit log without its body, dry runs too: these come
        before there is an entry.
        """
        for each in reversed(self._intended):
            since = write.began - (each.at - self.ahead)
            if (each.request or {})["path"].partition("?")[0] == write.path and -0.05 <= since <= SENT:
                return each
        return None

    def _broken(self, write: Taken, found: Entry | None) -> Iterator[str]:
        """A pause after an edit war is no repair, and has no plan."""
        if found is None or found.plan is None:
            yield "is in no entry of the ledger"
            return
        late = found.at - self.ahead - write.at
        if late > 1:
            yield f"was in the ledger only {late:.1f} s later"
        yield from (f"({found.plan.remediation}) {what}" for what in broken(write, found.plan, self.history))

    def _uncalled(self) -> Iterator[str]:
        """Requests to leave that virt-api took back, and the ledger has no entry of."""
        calls = [each for each in self._intended if CALLED in (each.request or {})["path"]]
        for write in self.history.writes:
            by_api = write.by.endswith(":kubevirt-apiserver") and write.key[1] == "virtualmachineinstances"
            if self.namespace not in ("", write.key[2]):
                continue
            if not by_api or write.dry or not _asked(write.before) or _asked(write.after):
                continue
            of = [each for each in calls if f"/{write.key[2]}/" in each.request["path"]]  # type: ignore[index]
            if not any(-1 <= write.began - (each.at - self.ahead) <= SENT for each in of):
                yield f"{write} cancels an evacuation that is in no entry of the ledger"

    def _untrue(self, taken: Counter[str]) -> Iterator[str]:
        """Entries that say something else than what the API server took."""
        for attempt, times in taken.items():
            if times > 1:
                yield f"attempt {attempt} was taken {times} times"
        for each in self.entries:
            if _says(each, happened=True) and each.attempt not in taken:
                yield f"attempt {each.attempt} happened, says the ledger, and never was"
            if _says(each, happened=False) and each.attempt in taken:
                yield f"attempt {each.attempt} did not happen, says the ledger, and was"


def _same(sent: Mapping[str, Any], write: Taken) -> bool:
    """A deletion's options are in the audit log with the version and kind that the API server gave them."""
    if sent["path"].partition("?")[0] != write.path:
        return False
    if sent["method"] == "DELETE" and isinstance(write.body, dict):
        return all(write.body.get(name) == value for name, value in sent["body"].items() if name not in _VERSION)
    return bool(sent["body"] == write.body)


def _asked(vmi: object) -> bool:
    status = vmi.get("status") if isinstance(vmi, dict) else None
    return bool(status and status.get("evacuationNodeName"))


def _says(entry: Entry, *, happened: bool) -> bool:
    if entry.event is Event.RESOLVED:
        return entry.happened is happened
    return entry.event is (Event.DONE if happened else Event.FAILED)
