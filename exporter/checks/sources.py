"""What the steward itself can't see: kinds that it may not or can't list, and objects that it can't read.

A check that reads such a kind has no answer meanwhile: its last findings stay, marked as unknown.

Not seen here: a watch that the API server keeps open without sending the changes that happened.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding, Severity, Since
from ..model.record import Ref
from ..model.source import FILE, SOURCE, UNDECODABLE, Source, SyncState, Undecodable
from .base import Check, Family, Reason, View
from .scopes import PER_CLUSTER

__all__ = ["CHECK"]

_UNSEEN = Family(
    "kubevirt_steward_kind_unseen", "A kind that checks read can't be seen.", ("kind", "severity", "reason")
)
_UNREADABLE = Family(
    "kubevirt_steward_object_undecodable", "An object could not be read.", ("namespace", "name", "kind", "reason")
)

_REASONS = {
    "KindForbidden": Reason((Severity.CRITICAL,), "The API server refuses us this kind.", _UNSEEN),
    "KindFailing": Reason((Severity.CRITICAL,), "This kind could never be listed; the API server fails.", _UNSEEN),
    "KindStale": Reason(
        (Severity.WARNING,), "The connection for this kind is lost; what we know of it is old.", _UNSEEN
    ),
    "KindAbsent": Reason(
        (Severity.WARNING,),
        "The cluster does not serve this kind, which no cluster with KubeVirt lacks.",
        _UNSEEN,
    ),
    "UndecodableObject": Reason(
        (Severity.WARNING,), "An object does not have the shape that its kind should have.", _UNREADABLE
    ),
}

_BY_SIGHT = {
    SyncState.FORBIDDEN: ("KindForbidden", Severity.CRITICAL),
    SyncState.FAILING: ("KindFailing", Severity.CRITICAL),
    SyncState.STALE: ("KindStale", Severity.WARNING),
    SyncState.ABSENT: ("KindAbsent", Severity.WARNING),
}


def find(view: View) -> Iterator[Finding]:
    for source in view.all(Source):
        if source.current or source.sync_state not in _BY_SIGHT:
            continue
        reason, severity = _BY_SIGHT[source.sync_state]
        yield Finding(
            reason=reason,
            severity=severity,
            subject=Ref("Kind", "", source.name),
            message=source.why,
            since=source.since,
            since_source=Since.SOURCE,
            evidence={"kind": source.name, "resource": source.resource},
        )
    for undecodable in view.all(Undecodable):
        if undecodable.kind == FILE:
            continue  # the reader of the dump is reported by itself
        yield Finding(
            reason="UndecodableObject",
            severity=Severity.WARNING,
            subject=undecodable.ref,
            message=f"{undecodable.ref} could not be read: {undecodable.why}; checks that read it have no answer there",
            since=undecodable.first_seen,
            since_source=Since.SOURCE,
            evidence={"kind": undecodable.kind},
        )


CHECK = Check(
    id="sources",
    title="What the steward can't see",
    reads=(SOURCE, UNDECODABLE),
    scope=PER_CLUSTER,
    reasons=_REASONS,
    find=find,
)
