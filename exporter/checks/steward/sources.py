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
from ...findings.causes import Cause
from ...findings.check import Check, Family, Reason, Scope, View
from ...findings.finding import Finding, Since
from ...findings.severity import Severity
from ...store.source import BY_ITSELF, FILE, SOURCE, UNDECODABLE, Source, SyncState, Undecodable

_UNSEEN = Family("kubevirt_steward_kind_unseen", "A kind that checks read can't be seen.")
_UNREADABLE = Family("kubevirt_steward_object_undecodable", "An object could not be decoded.")
_API_SERVER = ("kubectl get --raw '/readyz?verbose'", "kubectl get RESOURCE -A --chunk-size=250")

_REASONS = {
    "KindForbidden": Reason(
        (Severity.CRITICAL,),
        "The API server refuses the steward permission to list or watch this kind.",
        _UNSEEN,
        next="Apply the ClusterRole of this release, and check that the steward's ServiceAccount is bound to it.",
        commands=(
            "kubectl auth can-i list RESOURCE -A --as=SERVICEACCOUNT",
            "kubectl auth can-i watch RESOURCE -A --as=SERVICEACCOUNT",
            "kubectl apply -f deploy/base/exporter/clusterrole.yaml",
        ),
        alert="StewardBlind",
        cause=Cause.CLUSTER,
    ),
    "KindFailing": Reason(
        (Severity.CRITICAL,),
        "A kind could never be listed: the API server answers with errors, or not at all.",
        _UNSEEN,
        next="Check whether listing the kind fails for you too: then repair the API server, else the steward's access.",
        commands=_API_SERVER,
        alert="StewardBlind",
        cause=Cause.CLUSTER,
    ),
    "KindStale": Reason(
        (Severity.WARNING,),
        "The connection for this kind is lost, and what is known of it is old.",
        _UNSEEN,
        next="Check whether the API server answers you: then repair the network of the steward's pod.",
        commands=_API_SERVER,
        alert="StewardBlind",
        cause=Cause.CLUSTER,
    ),
    "KindAbsent": Reason(
        (Severity.WARNING,),
        "The cluster does not serve this kind, as every cluster with KubeVirt does.",
        _UNSEEN,
        next="Install KubeVirt; if it is installed, restore its CRDs and their objects from a backup.",
        commands=(
            "kubectl get customresourcedefinitions.apiextensions.k8s.io -o name | grep -F -e kubevirt.io",
            "kubectl get kubevirts.kubevirt.io -A",
        ),
        alert="StewardBlind",
        cause=Cause.SUBJECT,
    ),
    "UndecodableObject": Reason(
        (Severity.WARNING,),
        "An object does not have the shape that its kind should have.",
        _UNREADABLE,
        next="Read the object and correct the field with its owner; if all objects of the kind are undecodable, update "
        "the steward.",
        alert="StewardObjectUndecodable",
    ),
}
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
            message=f"Kind {source.name} can't be seen: {source.why}",
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
            message=f"{the(undecodable.ref.kind)} can't be decoded: {undecodable.why}; checks that read its "
            "kind have no answer there",
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
    reasons=_REASONS,
    find=find,
)
