"""What the API server says beside the objects: Events of what goes wrong, and which APIs it serves.

No finding follows from these; they are what the commands of findings show.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from ..apiserver.registry import timestamp
from ..apiserver.resources import RESOURCES, Obj
from .objects import condition, new
from .samples import uid

# Of which object, how long ago, how often, reason and message.
_EVENTS = (
    (
        *("Pod", "lab", "virt-launcher-trainer-big-target", 4, 9, "FailedScheduling"),
        "0/5 nodes are available: 1 node(s) were unschedulable, 4 Insufficient memory.",
    ),
    (
        *("VirtualMachineInstance", "telecom", "hss-legacy", 17, 3, "FailedMigration"),
        "VirtualMachineInstance migration uid failed. reason: Live migration failed: operation failed",
    ),
    (
        *("VirtualMachineInstance", "billing", "oracle-1", 2, 40, "EvictionRefused"),
        "VMI oracle-1 is configured with an eviction strategy but is not live-migratable",
    ),
    (
        *("VirtualMachine", "lab", "gitops-demo", 1, 120, "FailedFindInstancetype"),
        'virtualmachineclusterinstancetypes.instancetype.kubevirt.io "u1.2xlarge" not found',
    ),
)


def noticed(now: datetime, objects: Iterable[Obj]) -> list[Obj]:
    """The Events are of some of these objects."""
    uids = {_key(each): each["metadata"]["uid"] for each in objects}
    events = [_event(now, uids[each[:3]], *each) for each in _EVENTS]
    return [*events, *_api_services(timestamp(now - timedelta(days=200)))]


def _key(obj: Obj) -> tuple[str, ...]:
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _event(
    now: datetime,
    subject_uid: str,
    kind: str,
    namespace: str,
    name: str,
    minutes_ago: int,
    count: int,
    reason: str,
    message: str,
) -> Obj:
    at = timestamp(now - timedelta(minutes=minutes_ago))
    resource = next(each for each in RESOURCES if each.kind == kind)
    return new(
        "Event",
        namespace,
        f"{name}.{reason.lower()}",
        uid=uid("Event", namespace, name, reason),
        created=timestamp(now - timedelta(hours=2)),
        type="Warning",
        reason=reason,
        message=message,
        count=count,
        firstTimestamp=timestamp(now - timedelta(hours=2)),
        lastTimestamp=at,
        involvedObject={
            "apiVersion": resource.api_version,
            "kind": kind,
            "namespace": namespace,
            "name": name,
            "uid": subject_uid,
        },
        source={"component": "default-scheduler" if kind == "Pod" else "virt-controller"},
    )


def _api_services(born: str) -> list[Obj]:
    groups = sorted({(each.version, each.group) for each in RESOURCES})
    own = [_api_service(version, group, None, born) for version, group in groups]
    return [*own, _api_service("v1", "subresources.kubevirt.io", {"namespace": "kubevirt", "name": "virt-api"}, born)]


def _api_service(version: str, group: str, service: Obj | None, born: str) -> Obj:
    return new(
        "APIService",
        "",
        f"{version}.{group}",
        uid=uid("APIService", version, group),
        created=born,
        spec={"group": group, "version": version} | ({"service": service} if service else {}),
        status={"conditions": [condition("Available", True, born, reason="Passed" if service else "Local")]},
    )
