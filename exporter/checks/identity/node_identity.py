"""Nodes that share a system UUID.

libvirt refuses to migrate between two hosts with one system UUID ("Attempt to migrate guest to the same host"), so a
drain of one of them fails where the other one is the target. It happens where nodes are VMs that share a firmware UUID,
and with boards to which the vendor gave the same one.

Not seen here: placeholders, such as all zeros; the same value with its bytes in another order, which libvirt takes for
another one.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.firmware import group_id
from ...facts.naming import NAMED, named
from ...findings.causes import Cause
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.indexes.drains import SYSTEM_UUID
from ...store.kinds.node import Node

_TEXTS = Texts("node_identity")


def find(view: View) -> Iterator[Finding]:
    nodes = sorted(view.all(Node), key=lambda each: each.name)
    if len(nodes) < 2:
        return
    for each in nodes:
        others = [other for other in nodes[: NAMED + 1] if other is not each][:NAMED]
        yield Finding(
            reason="DuplicateSystemUUID",
            severity=Severity.WARNING,
            subject=each.ref,
            node=each.name,
            related=tuple(other.ref for other in others),
            message=_TEXTS.message(
                "DuplicateSystemUUID", others=named([other.name for other in others], len(nodes) - 1, NAMED)
            ),
            group=group_id(view.partition),
            evidence={"systemUUID": each.system_uuid, "nodes": [other.name for other in nodes[:NAMED]]},
        )


CHECK = Check(
    id="node_identity",
    title="Nodes that share a system UUID",
    reads=(Node.KIND,),
    scope=Scope("one system UUID", SYSTEM_UUID),
    cause=Cause.GROUP,
    reasons=reasons_of("node_identity"),
    find=find,
)
