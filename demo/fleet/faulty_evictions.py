"""A node of the sample fleet that is being drained, and what can't leave it: one function per case."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from ..apiserver.registry import timestamp
from ..apiserver.resources import Obj
from . import objects, surroundings
from .networks import NODES, node
from .objects import condition, new
from .pods import launcher
from .samples import SampleVM, complete, uid
from .trouble import Case, trouble

DRAINED = "node05"
_SINCE = timedelta(minutes=47)  # the drain has been going on for


def blocked(now: datetime) -> list[Case]:
    return [case(now) for case in _CASES]


def drained(now: datetime) -> Case:
    born, ready = timestamp(now - timedelta(days=300)), timestamp(now - timedelta(days=30))
    cordoned = node(DRAINED, born, ready, cordoned=timestamp(now - _SINCE))
    return Case([cordoned], [trouble(cordoned, "is being drained, but some VMs can't be evicted")])


def not_migratable(now: datetime) -> Case:
    why = (
        "cannot migrate VMI: PVC oracle-1-root is not shared, live migration requires that all PVCs must be "
        "shared (using ReadWriteMany access mode)"
    )
    made = complete(_sample(now, "billing", "oracle-1", 150, hindrance=why))
    return Case(made, [trouble(made[2], "its disk is local to the node and blocks the drain")])


def external(now: datetime) -> Case:
    """A VM that is a node of another cluster, whose controller has to empty it first."""
    capk = "capk.cluster.x-k8s.io"
    labels = {f"{capk}/kubevirt-machine-name": "tenant-worker-2", f"{capk}/kubevirt-machine-namespace": "lab"}
    made = complete(_sample(now, "lab", "tenant-worker-2", 151, strategy="External", labels=labels))
    _request_evacuation(made[2], now - _SINCE)
    manager = new(
        "KubevirtMachine",
        "lab",
        "tenant-worker-2",
        uid=uid("KubevirtMachine", "lab", "tenant-worker-2"),
        created=timestamp(now - timedelta(days=40)),
        annotations={f"{capk}/vmi-deletion-grace-time": timestamp(now - _SINCE + timedelta(minutes=10))},
        spec={},
    )
    return Case([*made, manager], [trouble(made[2], "its controller doesn't move it")])


def no_room(now: datetime) -> Case:
    sample = _sample(now, "lab", "trainer-big", 152, memory="480Gi")
    made = complete(sample)
    _request_evacuation(made[2], now - _SINCE)
    since = now - timedelta(minutes=3)
    migration = _migration(sample, since, "Scheduling")
    name = f"virt-launcher-{sample.name}-target"
    target = launcher(
        sample.namespace,
        name,
        sample.name,
        vmi_uid=sample.uid("VirtualMachineInstance"),
        migration_uid=migration["metadata"]["uid"],
        phase="Pending",
        unschedulable="0/5 nodes are available: 1 node(s) were unschedulable, 4 Insufficient memory.",
        since=timestamp(since),
        requests=made[3]["spec"]["containers"][0]["resources"]["requests"],
        uid=uid("Pod", "lab", name),
        created=timestamp(since),
        owners=made[3]["metadata"]["ownerReferences"],
    )
    return Case([*made, migration, target], [trouble(made[2], "no node has enough memory for its migration")])


def keeps_failing(now: datetime) -> Case:
    sample = _sample(now, "telecom", "hss-legacy", 153)
    made = complete(sample)
    _request_evacuation(made[2], now - _SINCE)
    reason = "Live migration failed: operation failed: guest CPU doesn't match specification: missing features: mpx"
    failed = [_migration(sample, now - timedelta(minutes=age), "Failed", reason) for age in (40, 31, 17)]
    waiting = _migration(sample, now - timedelta(minutes=1), "Pending")
    return Case([*made, *failed, waiting], [trouble(made[2], "three migrations failed in a row")])


def kept_by_a_pdb(now: datetime) -> Case:
    app = {"app": "queue"}
    made = complete(_sample(now, "shop", "queue-1", 154, strategy="None", labels=app))
    pdb = _pdb(now - timedelta(days=60), "shop", "queue", app)
    return Case([*made, pdb], [trouble(made[2], "a PDB of its owner blocks the eviction")])


def moving(now: datetime) -> Case:
    """Nothing is wrong with it: it is on its way."""
    sample = _sample(now, "shop", "web-canary", 155)
    made = complete(sample)
    _request_evacuation(made[2], now - timedelta(minutes=1))
    started = timestamp(now - timedelta(seconds=40))
    state = {"migrationUid": "m", "startTimestamp": started, "sourceNode": DRAINED, "targetNode": NODES[0]}
    made[2]["status"]["migrationState"] = state
    return Case([*made, _migration(sample, now - timedelta(minutes=1), "Running")], [])


def stale(now: datetime) -> Case:
    made = complete(replace(_sample(now, "windows-desktops", "terminal-1", 156), node=NODES[1]))
    _request_evacuation(made[2], now - timedelta(days=6), NODES[2])
    wrong = f"has a leftover evacuation request for {NODES[2]}, which it left"
    return Case(made, [trouble(made[2], wrong)])


def left_pdb(now: datetime) -> Case:
    labels = {"kubevirt.io/created-by": uid("a VM of the past")}
    pdb = _pdb(now - timedelta(days=200), "telecom", "kubevirt-disruption-budget-6fk2c", labels, expected=0, healthy=0)
    return Case([pdb], [trouble(pdb, "was made by KubeVirt, and its VM was deleted")])


_CASES: tuple[Callable[[datetime], Case], ...] = (
    drained,
    not_migratable,
    external,
    no_room,
    keeps_failing,
    kept_by_a_pdb,
    moving,
    stale,
    left_pdb,
)


def _sample(now: datetime, namespace: str, name: str, number: int, **more: Any) -> SampleVM:
    how = {"node": DRAINED, "memory": "4Gi"} | more
    return SampleVM(namespace=namespace, name=name, now=now, number=number, **how)


def _request_evacuation(vmi: Obj, when: datetime, node: str = DRAINED) -> None:
    """As KubeVirt's webhook does when an eviction is asked for."""
    status, since = vmi["status"], timestamp(when)
    status["evacuationNodeName"] = node
    why = {"reason": "EvictionRequested", "message": "VMI is marked for eviction", "lastProbeTime": since}
    status["conditions"] = [*status["conditions"], condition("EvictionRequested", True, since, **why)]


def _migration(sample: SampleVM, made: datetime, phase: str, failure: str | None = None) -> Obj:
    name = f"kubevirt-evacuation-{uid(sample.name, phase, timestamp(made))[:5]}"
    return objects.migration(
        sample.namespace,
        name,
        sample.name,
        phase=phase,
        since=timestamp(made + timedelta(seconds=2)),
        evacuates=sample.node,
        failure=failure,
        uid=uid("VirtualMachineInstanceMigration", sample.namespace, name),
        created=timestamp(made),
        generation=1,
        labels={"kubevirt.io/vmi-name": sample.name},
    )


def _pdb(made: datetime, namespace: str, name: str, labels: Mapping[str, str], **status: int) -> Obj:
    return surroundings.pdb(
        namespace,
        name,
        {"matchLabels": dict(labels)},
        min_available=1,
        refused="InsufficientPods",
        since=timestamp(made),
        uid=uid("PodDisruptionBudget", namespace, name),
        created=timestamp(made),
        **status,  # type: ignore[arg-type]
    )
