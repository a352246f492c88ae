"""Short rows of a case file to full objects, with the builders of the demo; `over` is put over the object made."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from demo.apiserver.resources import RESOURCES
from demo.fleet import surroundings as around
from demo.fleet.objects import FINALIZERS, condition, new, owner
from demo.fleet.pods import claim
from tests import sizing_rows
from tests.sizing_rows import put
from tests.vm_rows import BUILDERS

__all__ = ["CLUSTER_WIDE", "CREATED", "DELETED", "full"]

CREATED, DELETED = "2026-05-04T08:12:31Z", "2026-06-03T16:20:00Z"
CLUSTER_WIDE = tuple(resource.kind for resource in RESOURCES if not resource.namespaced)

Row = dict[str, Any]


def full(row: Row) -> Row:
    """The object of one row. Raises KeyError for a kind that the demo's API server does not serve, ValueError for an
    impossible state.
    """
    made: Row = pickle.loads(_pickled(pickle.dumps(row)))
    return made


@lru_cache(8192)  # the cases of a check are made again and again; each who asks gets an object of its own
def _pickled(pickled: bytes) -> bytes:
    return pickle.dumps(_made(pickle.loads(pickled)))


def _made(row: Row) -> Row:
    kind, name = row["kind"], row["name"]
    meta = {
        "uid": row.get("uid") or f"uid-{kind}-{row.get('namespace', 'ns')}-{name}",
        "created": row.get("created", CREATED),
    }
    if row.get("deleting"):
        meta |= {"deleting": max(DELETED, meta["created"]), "finalizers": FINALIZERS.get(kind, ("foregroundDeletion",))}
    made = _BUILDERS.get(kind, _plain)("" if kind in CLUSTER_WIDE else row.get("namespace", "ns"), row, meta)
    put(made, row.get("over", {}))
    if row.get("undecodable"):
        made["metadata"]["creationTimestamp"] = {"not": "a time"}
    return made


def _plain(namespace: str, row: Row, meta: Row) -> Row:
    """Of a kind that has no builder: what is in its spec and status the row says itself."""
    return new(
        row["kind"],
        namespace,
        row["name"],
        labels=row.get("labels"),
        annotations=row.get("annotations"),
        **{field: row[field] for field in ("spec", "status") if field in row},
        **meta,
    )


def _claim(namespace: str, row: Row, meta: Row) -> Row:
    owners = []
    if "owner" in row:
        name = row.get("ownerName") or row.get("vm", "")
        owners.append(owner(row.get("ownerKind", "VirtualMachine"), name, row["owner"]))
    if "otherOwner" in row:
        owners.append(owner("Import", "import", row["otherOwner"], "example.org/v1"))
    refused = {"status": "False", "reason": row.get("refused")}
    made = claim(
        namespace,
        row["name"],
        row.get("network", "tenantblue"),
        row.get("ips"),
        vm=row.get("vm"),
        conditions=[condition("IPsAllocated", False, CREATED) | refused] if "refused" in row else [],
        owners=owners,
        **meta | {"finalizers": row.get("finalizers", FINALIZERS["IPAMClaim"])},
    )
    if row.get("bare"):
        del made["spec"], made["status"]
    return made


def _nad(namespace: str, row: Row, meta: Row) -> Row:
    """A NAD that is well, with `config` over it; a `config` that is text is taken as it is. `maker` is the kind of the
    network that it was rendered of.
    """
    makers = [owner(row["maker"], row["name"], "m", "k8s.ovn.org/v1")] if "maker" in row else []
    return around.nad(
        namespace,
        row["name"],
        row.get("network", "tenantblue"),
        subnets=row.get("subnets", "10.0.0.0/16"),
        persistent=row.get("persistent", True),
        number=7 if row.get("accepted", True) else None,
        config=row.get("config"),
        owners=makers,
        **meta,
    )


def _udn(namespace: str, row: Row, meta: Row) -> Row:
    """`selects` are labels of namespaces, `primary` makes it their primary network; `failed` is why it was not made."""
    made = around.user_defined(
        namespace, row["name"], row.get("subnets", []), row.get("failed"), selects=row.get("selects"), **meta
    )
    if row.get("primary"):
        (made["spec"] if namespace else made["spec"]["network"])["layer2"]["role"] = "Primary"
    return made


def _deployment(namespace: str, row: Row, meta: Row) -> Row:
    """`since` is when it became ready, or ceased to be; `command`, `args` and `env` are those of its container."""
    counts = {"replicas": row.get("replicas", 1), "ready": row.get("ready", 1)}
    made = around.deployment(namespace, row["name"], **counts, **meta)
    container: Row = made["spec"]["template"]["spec"]["containers"][0]
    container.update({key: row[key] for key in ("command", "args") if key in row})
    container["env"] = [
        {"name": name, "valueFrom" if isinstance(value, dict) else "value": value}
        for name, value in row.get("env", {}).items()
    ]
    if "since" in row:
        made["status"]["conditions"] = [condition("Available", counts["ready"] > 0, row["since"])]
    return made


_BUILDERS: dict[str, Callable[[str, Row, Row], Row]] = {
    "IPAMClaim": _claim,
    "Deployment": _deployment,
    "MutatingWebhookConfiguration": lambda _, row, meta: around.webhook(
        row["name"], row["webhook"], row.get("ca"), **meta
    ),
    "NetworkAttachmentDefinition": _nad,
    "UserDefinedNetwork": _udn,
    "ClusterUserDefinedNetwork": _udn,
    "Namespace": lambda _, row, meta: new("Namespace", "", row["name"], labels=row.get("labels"), **meta),
    **BUILDERS,
    **sizing_rows.BUILDERS,
}
