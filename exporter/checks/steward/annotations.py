"""Annotations that can't be read, and what is not known without them.

Whoever may write an object may write anything into its annotations. One that can't be read costs no more than what it
says: a check that needs just that has no answer where it needs it, and says so; all else is evaluated as ever.

Not seen here: annotations that nothing reads, and those that are well-formed and wrong. A NAD whose configuration is
not JSON is found by `ipam_namespaces`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...facts.naming import subject_first
from ...facts.record import Record
from ...findings.advice import filled
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding
from ...findings.pages import reasons_of
from ...findings.severity import Severity
from ...store.index import ByName, Index
from ...store.kind import ApiKind
from ...store.kinds import kubevirt_machine, pod, virtual_machine_instance

# The objects of which something could not be read.


def _unread(record: Record, _: ByName) -> Iterable[str]:
    return (f"{type(record).__name__} {record.namespace}/{record.name}",) if record.unread else ()


# Each under a key of its own, and all others under none.
UNREAD = Index("unreadable annotation", _unread)


_KINDS: tuple[ApiKind[Any], ...] = (pod.KIND, virtual_machine_instance.KIND, kubevirt_machine.KIND)


def find(view: View) -> Iterator[Finding | None]:
    for kind in _KINDS:
        yield from view.apart(_of(view, kind))


def _of(view: View, kind: ApiKind[Any]) -> Iterator[Finding]:
    for record in view.all(kind.record):
        said = [f"annotation {fact.annotation} can't be read: {fact.why}" for fact in record.unread]
        values = {"RESOURCE": kind.resource, "NAMESPACE": record.namespace, "NAME": record.name}
        yield Finding(
            reason="UnreadableAnnotation",
            severity=Severity.INFO,
            subject=record.ref,
            message=subject_first(record.ref.kind, "; ".join(said)),
            commands=(filled("kubectl get RESOURCE -n NAMESPACE NAME -o yaml", values),),
            evidence={"annotations": [fact.annotation for fact in record.unread]},
        )


CHECK = Check(
    id="annotations",
    title="Annotations that can't be read",
    reads=_KINDS,
    scope=Scope("one object", UNREAD),
    reasons=reasons_of("annotations"),
    find=find,
    fields_read=_KINDS,
)
