"""The sample fleet: a hundred VMs in six namespaces, most of them well.

    fleet = sample_fleet(now)
    server.load(fleet.objects)
    for trouble in fleet.troubles: ...

The healthy ones are whole: every reference resolves, each claim carries what its pod holds.
What is wrong is listed beside them, one sentence each; see faulty.py and its neighbours.

Beside the objects are Events of what goes wrong, and which APIs are served. No finding follows from these; they are
what the commands of findings show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from ..apiserver.registry import timestamp
from ..apiserver.resources import RESOURCES, Obj
from .faulty import faulty
from .faulty_evictions import blocked
from .faulty_features import refused
from .faulty_identity import confused
from .faulty_instancetypes import SIGNALLING, lost, offered
from .networks import BILLING, LAB, MISSPELT, NODES, SHOP, TELECOM, SampleNetwork, addresses, ground
from .objects import condition, new
from .samples import SampleVM, complete, uid
from .trouble import Trouble

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


@dataclass(frozen=True, slots=True)
class SampleFleet:
    objects: list[Obj]
    troubles: list[Trouble]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleGroup:
    """VMs that differ by a number at the end of their name."""

    namespace: str
    stem: str
    running: int
    stopped: int = 0
    network: SampleNetwork | None = None
    memory: str = "2Gi"
    windows: bool = False
    downward_metrics: bool = False
    instancetype: str = ""
    preference: str = ""


GROUPS = (
    SampleGroup(namespace="shop", stem="web", running=6, network=SHOP),
    SampleGroup(namespace="shop", stem="cart", running=3, network=SHOP, memory="4Gi"),
    SampleGroup(namespace="shop", stem="search", running=2, network=SHOP, memory="8Gi", instancetype="u1.large"),
    SampleGroup(namespace="shop", stem="promo", running=0, stopped=1, network=SHOP),
    SampleGroup(namespace="shop", stem="flash-sale", running=1, network=SHOP),
    SampleGroup(
        namespace="billing", stem="ledger", running=3, network=BILLING, memory="16Gi", instancetype="u1.xlarge"
    ),
    SampleGroup(namespace="billing", stem="invoice", running=3, network=BILLING),
    SampleGroup(namespace="billing", stem="audit", running=0, stopped=2, network=BILLING),
    SampleGroup(namespace="lab", stem="bench", running=6, network=LAB),
    SampleGroup(namespace="lab", stem="trainer", running=3, network=LAB, memory="64Gi"),
    SampleGroup(namespace="lab", stem="idle", running=0, stopped=2, network=LAB),
    SampleGroup(namespace="telecom", stem="hss", running=2, network=TELECOM, memory="16Gi", downward_metrics=True),
    SampleGroup(namespace="telecom", stem="smsc", running=2, network=TELECOM, instancetype=SIGNALLING),
    SampleGroup(namespace="telecom", stem="sip-proxy", running=3, network=TELECOM),
    SampleGroup(namespace="telecom", stem="pcrf", running=1, stopped=1, network=TELECOM, memory="8Gi"),
    SampleGroup(
        namespace="windows-desktops",
        stem="desktop",
        running=9,
        stopped=2,
        memory="8Gi",
        windows=True,
        instancetype="u1.large",
        preference="windows.11",
    ),
    SampleGroup(namespace="telecom", stem="hss-spare", running=0, stopped=1, memory="16Gi", downward_metrics=True),
)


def sample_fleet(now: datetime) -> SampleFleet:
    well = chain.from_iterable(complete(sample) for sample in healthy_vms(now))
    cases = [*faulty(now), *confused(now), *blocked(now), *lost(now), *refused(now)]
    ill = chain.from_iterable(case.objects for case in cases)
    troubles = chain.from_iterable(case.troubles for case in cases)
    objects = [*ground(now), *offered(now).values(), *well, *ill]
    return SampleFleet([*objects, *noticed(now, objects)], [*troubles, MISSPELT])


def healthy_vms(now: datetime) -> list[SampleVM]:
    """Spread over the nodes in turn, with addresses from .10 up in each network."""
    samples: list[SampleVM] = []
    taken: Counter[SampleNetwork] = Counter()
    kept = offered(now)
    for group in GROUPS:
        for i in range(group.running + group.stopped):
            number = len(samples)
            if group.network:
                taken[group.network] += 1
            samples.append(
                SampleVM(
                    namespace=group.namespace,
                    name=f"{group.stem}-{i + 1}",
                    now=now,
                    node=NODES[number % len(NODES)] if i < group.running else "",
                    number=number,
                    network=group.network,
                    addresses=addresses(group.network, 9 + taken[group.network]) if group.network else (),
                    age=timedelta(days=20 + 3 * number),
                    up=timedelta(hours=5 + 7 * (number % 40)),
                    memory=group.memory,
                    windows=group.windows,
                    downward_metrics=group.downward_metrics,
                    instancetype=kept.get(group.instancetype),
                    preference=kept.get(group.preference),
                )
            )
    return samples
