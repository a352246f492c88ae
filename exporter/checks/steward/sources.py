"""What the steward itself can't see: kinds that it may not or can't list, and objects that it can't decode.

A check that reads such a kind is unknown meanwhile: its last findings stay open and are shown as unknown, and so is
what it still finds by the objects of other kinds.

Not seen here: a watch that the API server keeps open without sending the changes that happened. One on which no
bookmark comes any more either is ended after minutes, and its kind is listed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...facts.naming import the
from ...facts.record import Ref
from ...findings.advice import filled
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.source import BY_ITSELF, FILE, SOURCE, UNDECODABLE, Source, SyncState, Undecodable

_TEXTS = Texts("sources")
_USER = re.compile(r'User "([^"]+)"')  # in the API server's sentence

_BY_SYNC_STATE = {
    SyncState.FORBIDDEN: ("KindForbidden", Severity.CRITICAL),
    SyncState.FAILING: ("KindFailing", Severity.CRITICAL),
    SyncState.STALE: ("KindStale", Severity.WARNING),
    SyncState.ABSENT: ("KindAbsent", Severity.WARNING),
}


def find(view: View) -> Iterator[Finding]:
    for source in view.all(Source):
        if source.current or source.sync_state not in _BY_SYNC_STATE:
            continue
        reason, severity = _BY_SYNC_STATE[source.sync_state]
        user = _USER.search(source.why)
        yield Finding(
            reason=reason,
            severity=severity,
            subject=Ref("Kind", "", source.name),
            message=_TEXTS.message(reason, kind=source.name, why=source.why),
            since=source.since,
            since_source=Since.SOURCE,
            evidence={"kind": source.name, "resource": source.resource} | ({"serviceaccount": user[1]} if user else {}),
        )
    for undecodable in view.all(Undecodable):
        if undecodable.kind == FILE:
            continue  # of a dump, and reported by itself
        resource = undecodable.resource or undecodable.kind
        yield Finding(
            reason="UndecodableObject",
            severity=Severity.WARNING,
            subject=undecodable.ref,
            message=_TEXTS.message("UndecodableObject", object=the(undecodable.ref.kind), why=undecodable.why),
            since=undecodable.first_seen,
            since_source=Since.SOURCE,
            commands=(_object(undecodable, resource),),
            evidence={"kind": undecodable.kind, "resource": resource},
        )


def _object(undecodable: Undecodable, resource: str) -> str:
    values = {"RESOURCE": resource, "NAMESPACE": undecodable.namespace, "NAME": undecodable.object_name}
    within = " -n NAMESPACE" if undecodable.namespace else ""
    return filled(f"kubectl get RESOURCE{within} NAME -o yaml", values)


CHECK = Check(
    id="sources",
    title="What the steward can't see",
    reads=(SOURCE, UNDECODABLE),
    scope=Scope("one kind, or one undecodable object", BY_ITSELF),
    reasons=reasons_of("sources"),
    find=find,
)
