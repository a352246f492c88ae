"""A node of the sample fleet that is being drained, and what can't leave it: one function per case.

The codes are those of the reference on evictions.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from ..fakeapi.registry import timestamp
from ..fakeapi.resources import Obj
from .networks import NODES, node
from .running import launcher, start_revision, vmi_of
from .samples import SampleVM, disk, uid, virtual_machine
from .trouble import Case, trouble

DRAINED = "node05"
_DEADLINE = "capk.cluster.x-k8s.io/vmi-deletion-grace-time"
_SINCE = timedelta(minutes=47)  # the drain has been going on for


def blocked(now: datetime) -> list[Case]:
    return [Case([_drained(now)], []), *(case(now) for case in _CASES)]


def _drained(now: datetime) -> Obj:
    since = timestamp(now - _SINCE)
    drained = node(DRAINED, timestamp(now - timedelta(days=300)), timestamp(now - timedelta(days=30)))
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": since}
    drained["spec"] |= {"unschedulable": True, "taints": [taint]}
    return drained


def not_migratable(now: datetime) -> Case:
    objects = _running(_sample(now, "billing", "oracle-1", 150))
    able = next(each for each in objects[1]["status"]["conditions"] if each["type"] == "LiveMigratable")
    able |= {
        "status": "False",
        "reason": "DisksNotLiveMigratable",
        "message": "cannot migrate VMI: PVC oracle-1-root is not shared, live migration requires that all PVCs must be "
        "shared (using ReadWriteMany access mode)",
    }
    return Case(objects, [trouble(objects[1], "NotMigratable", "its disk is on the node, so the drain waits for it")])


def external(now: datetime) -> Case:
    """A VM that is a node of another cluster, whose controller has to empty it first."""
    objects = _running(_sample(now, "lab", "tenant-worker-2", 151), strategy="External")
    objects[1]["metadata"]["labels"] |= {
        "capk.cluster.x-k8s.io/kubevirt-machine-name": "tenant-worker-2",
        "capk.cluster.x-k8s.io/kubevirt-machine-namespace": "lab",
    }
    _mark(objects[1], now)
    manager = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
        "kind": "KubevirtMachine",
        "metadata": {
            "name": "tenant-worker-2",
            "namespace": "lab",
            "uid": uid("KubevirtMachine", "lab", "tenant-worker-2"),
            "creationTimestamp": timestamp(now - timedelta(days=40)),
            "annotations": {_DEADLINE: timestamp(now - _SINCE + timedelta(minutes=10))},
        },
        "spec": {},
    }
    wrong = "the controller that should answer does not"
    return Case([*objects, manager], [trouble(objects[1], "ExternalAwaiting", wrong)])


def no_room(now: datetime) -> Case:
    sample = _sample(now, "lab", "trainer-big", 152, memory="480Gi")
    objects = _running(sample)
    _mark(objects[1], now)
    migration = _migration(sample, now - timedelta(minutes=3), "Scheduling")
    target = launcher(sample)
    name = f"virt-launcher-{sample.name}-target"
    target["metadata"] |= {"name": name, "uid": uid("Pod", "lab", name)}
    target["metadata"]["creationTimestamp"] = timestamp(now - timedelta(minutes=3))
    target["metadata"]["labels"]["kubevirt.io/migrationJobUID"] = migration["metadata"]["uid"]
    del target["spec"]["nodeName"]
    message = "0/5 nodes are available: 1 node(s) were unschedulable, 4 Insufficient memory."
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    target["status"] = {"phase": "Pending", "qosClass": "Burstable", "conditions": [scheduled]}
    wrong = "its migration finds no node with enough memory"
    return Case([*objects, migration, target], [trouble(objects[1], "TargetUnschedulable", wrong)])


def keeps_failing(now: datetime) -> Case:
    sample = _sample(now, "telecom", "hss-legacy", 153)
    objects = _running(sample)
    _mark(objects[1], now)
    reason = "Live migration failed: operation failed: guest CPU doesn't match specification: missing features: mpx"
    failed = [_migration(sample, now - timedelta(minutes=age), "Failed", reason) for age in (40, 31, 17)]
    waiting = _migration(sample, now - timedelta(minutes=1), "Pending")
    wrong = "three migrations failed one after the other"
    return Case([*objects, *failed, waiting], [trouble(objects[1], "MigrationFailing", wrong)])


def budgeted(now: datetime) -> Case:
    sample = _sample(now, "shop", "queue-1", 154)
    objects = _running(sample, strategy="None")
    labels = objects[3]["metadata"]["labels"]
    labels["app"] = "queue"
    pdb = _pdb(now - timedelta(days=60), "shop", "queue", {"app": "queue"})
    return Case([*objects, pdb], [trouble(objects[1], "UserPDB", "a PDB of its owner wants it to stay")])


def moving(now: datetime) -> Case:
    """Nothing is wrong with it: it is on its way."""
    sample = _sample(now, "shop", "web-canary", 155)
    objects = _running(sample)
    _mark(objects[1], now, timedelta(minutes=1))
    started = timestamp(now - timedelta(seconds=40))
    state = {"migrationUid": "m", "startTimestamp": started, "sourceNode": DRAINED, "targetNode": NODES[0]}
    objects[1]["status"]["migrationState"] = state
    return Case([*objects, _migration(sample, now - timedelta(minutes=1), "Running")], [])


def stale(now: datetime) -> Case:
    sample = _sample(now, "windows-desktops", "terminal-1", 156, on=NODES[1])
    objects = _running(sample)
    _mark(objects[1], now, timedelta(days=6))
    objects[1]["status"]["evacuationNodeName"] = NODES[2]
    wrong = f"it left {NODES[2]} days ago and is still marked to leave it, so no drain can move it"
    return Case(objects, [trouble(objects[1], "StaleEvacuationRequest", wrong)])


def left_pdb(now: datetime) -> Case:
    pdb = _pdb(now - timedelta(days=200), "telecom", "kubevirt-disruption-budget-6fk2c", {})
    pdb["spec"]["selector"] = {"matchLabels": {"kubevirt.io/created-by": uid("a VM of the past")}}
    pdb["status"] |= {"expectedPods": 0, "currentHealthy": 0}
    wrong = "was KubeVirt's own, of a release before 1.6, and its VM is gone"
    return Case([pdb], [trouble(pdb, "OrphanPDB", wrong)])


_CASES: tuple[Callable[[datetime], Case], ...] = (
    not_migratable,
    external,
    no_room,
    keeps_failing,
    budgeted,
    moving,
    stale,
    left_pdb,
)


def _sample(
    now: datetime, namespace: str, name: str, number: int, *, memory: str = "4Gi", on: str = DRAINED
) -> SampleVM:
    return SampleVM(namespace=namespace, name=name, now=now, node=on, number=number, memory=memory)


def _running(sample: SampleVM, *, strategy: str = "LiveMigrate") -> list[Obj]:
    """All of a running VM: the VirtualMachine, its VMI, disk, launcher pod and start revision."""
    vm, vmi, revision = virtual_machine(sample), vmi_of(sample), start_revision(sample)
    for spec in (vm["spec"]["template"]["spec"], vmi["spec"], revision["data"]["spec"]["template"]["spec"]):
        spec["evictionStrategy"] = strategy
    return [vm, vmi, disk(sample), launcher(sample), revision]


def _mark(vmi: Obj, now: datetime, ago: timedelta = _SINCE) -> None:
    """As KubeVirt's webhook does when an eviction is asked for."""
    since = timestamp(now - ago)
    vmi["status"]["evacuationNodeName"] = vmi["status"]["nodeName"]
    mark = {"reason": "EvictionRequested", "message": "VMI is marked for eviction", "lastProbeTime": since}
    condition = {"type": "EvictionRequested", "status": "True", "lastTransitionTime": since} | mark
    vmi["status"]["conditions"] = [*vmi["status"]["conditions"], condition]


def _migration(sample: SampleVM, made: datetime, phase: str, failure: str = "") -> Obj:
    name = f"kubevirt-evacuation-{uid(sample.name, phase, timestamp(made))[:5]}"
    status: Obj = {"phase": phase, "phaseTransitionTimestamps": [_transition(phase, made)]}
    if failure:
        status["migrationState"] = {"failed": True, "completed": True, "failureReason": failure}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {
            "name": name,
            "namespace": sample.namespace,
            "uid": uid("VirtualMachineInstanceMigration", sample.namespace, name),
            "creationTimestamp": timestamp(made),
            "generation": 1,
            "labels": {"kubevirt.io/vmi-name": sample.name},
            "annotations": {"kubevirt.io/evacuationMigration": sample.node},
        },
        "spec": {"vmiName": sample.name},
        "status": status,
    }


def _transition(phase: str, made: datetime) -> Obj:
    return {"phase": phase, "phaseTransitionTimestamp": timestamp(made + timedelta(seconds=2))}


def _pdb(made: datetime, namespace: str, name: str, labels: dict[str, str]) -> Obj:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid("PodDisruptionBudget", namespace, name),
            "creationTimestamp": timestamp(made),
            "generation": 1,
        },
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
        "status": {
            "observedGeneration": 1,
            "disruptionsAllowed": 0,
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
            "conditions": [
                {
                    "type": "DisruptionAllowed",
                    "status": "False",
                    "reason": "InsufficientPods",
                    "lastTransitionTime": timestamp(made),
                }
            ],
        },
    }
