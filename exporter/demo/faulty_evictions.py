"""A node of the sample fleet that is being drained, and what can't leave it: one function per case.

The codes are those of the reference on evictions.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from .machines import Machine, disk, uid, virtual_machine
from .networks import NODES, node
from .registry import timestamp
from .resources import Obj
from .running import instance, launcher, start_revision
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
    objects = _running(_machine(now, "billing", "oracle-1", 150))
    able = next(each for each in objects[1]["status"]["conditions"] if each["type"] == "LiveMigratable")
    able |= {
        "status": "False",
        "reason": "DisksNotLiveMigratable",
        "message": "cannot migrate VMI: PVC oracle-1-root is not shared, live migration requires that all PVCs must be "
        "shared (using ReadWriteMany access mode)",
    }
    return Case(objects, [trouble(objects[1], "NotMigratable", "its disk is on the node, so the drain waits for it")])


def external(now: datetime) -> Case:
    """A machine that is a node of another cluster, whose controller has to empty it first."""
    objects = _running(_machine(now, "lab", "tenant-worker-2", 151), strategy="External")
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
    machine = _machine(now, "lab", "trainer-big", 152, memory="480Gi")
    objects = _running(machine)
    _mark(objects[1], now)
    migration = _migration(machine, now - timedelta(minutes=3), "Scheduling")
    target = launcher(machine)
    name = f"virt-launcher-{machine.name}-target"
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
    machine = _machine(now, "telecom", "hss-legacy", 153)
    objects = _running(machine)
    _mark(objects[1], now)
    reason = "Live migration failed: operation failed: guest CPU doesn't match specification: missing features: mpx"
    failed = [_migration(machine, now - timedelta(minutes=age), "Failed", reason) for age in (40, 31, 17)]
    waiting = _migration(machine, now - timedelta(minutes=1), "Pending")
    wrong = "three migrations failed one after the other"
    return Case([*objects, *failed, waiting], [trouble(objects[1], "MigrationFailing", wrong)])


def budgeted(now: datetime) -> Case:
    machine = _machine(now, "shop", "queue-1", 154)
    objects = _running(machine, strategy="None")
    labels = objects[3]["metadata"]["labels"]
    labels["app"] = "queue"
    budget = _budget(now - timedelta(days=60), "shop", "queue", {"app": "queue"})
    return Case([*objects, budget], [trouble(objects[1], "UserPDB", "a budget of its owner wants it to stay")])


def moving(now: datetime) -> Case:
    """Nothing is wrong with it: it is on its way."""
    machine = _machine(now, "shop", "web-canary", 155)
    objects = _running(machine)
    _mark(objects[1], now, timedelta(minutes=1))
    started = timestamp(now - timedelta(seconds=40))
    state = {"migrationUid": "m", "startTimestamp": started, "sourceNode": DRAINED, "targetNode": NODES[0]}
    objects[1]["status"]["migrationState"] = state
    return Case([*objects, _migration(machine, now - timedelta(minutes=1), "Running")], [])


def stale(now: datetime) -> Case:
    machine = _machine(now, "windows-desktops", "terminal-1", 156, on=NODES[1])
    objects = _running(machine)
    _mark(objects[1], now, timedelta(days=6))
    objects[1]["status"]["evacuationNodeName"] = NODES[2]
    wrong = f"it left {NODES[2]} days ago and is still marked to leave it, so no drain can move it"
    return Case(objects, [trouble(objects[1], "StaleMark", wrong)])


def left_budget(now: datetime) -> Case:
    budget = _budget(now - timedelta(days=200), "telecom", "kubevirt-disruption-budget-6fk2c", {})
    budget["spec"]["selector"] = {"matchLabels": {"kubevirt.io/created-by": uid("a machine of the past")}}
    budget["status"] |= {"expectedPods": 0, "currentHealthy": 0}
    wrong = "was KubeVirt's own, of a release before 1.6, and its machine is gone"
    return Case([budget], [trouble(budget, "OrphanPDB", wrong)])


_CASES: tuple[Callable[[datetime], Case], ...] = (
    not_migratable,
    external,
    no_room,
    keeps_failing,
    budgeted,
    moving,
    stale,
    left_budget,
)


def _machine(
    now: datetime, namespace: str, name: str, number: int, *, memory: str = "4Gi", on: str = DRAINED
) -> Machine:
    return Machine(namespace=namespace, name=name, now=now, node=on, number=number, memory=memory)


def _running(machine: Machine, *, strategy: str = "LiveMigrate") -> list[Obj]:
    """All of a running machine: the VirtualMachine, its instance, disk, launcher pod and start revision."""
    vm, vmi, revision = virtual_machine(machine), instance(machine), start_revision(machine)
    for spec in (vm["spec"]["template"]["spec"], vmi["spec"], revision["data"]["spec"]["template"]["spec"]):
        spec["evictionStrategy"] = strategy
    return [vm, vmi, disk(machine), launcher(machine), revision]


def _mark(vmi: Obj, now: datetime, ago: timedelta = _SINCE) -> None:
    """As KubeVirt's webhook does when an eviction is asked for."""
    since = timestamp(now - ago)
    vmi["status"]["evacuationNodeName"] = vmi["status"]["nodeName"]
    mark = {"reason": "EvictionRequested", "message": "VMI is marked for eviction", "lastProbeTime": since}
    condition = {"type": "EvictionRequested", "status": "True", "lastTransitionTime": since} | mark
    vmi["status"]["conditions"] = [*vmi["status"]["conditions"], condition]


def _migration(machine: Machine, made: datetime, phase: str, failure: str = "") -> Obj:
    name = f"kubevirt-evacuation-{uid(machine.name, phase, timestamp(made))[:5]}"
    status: Obj = {"phase": phase, "phaseTransitionTimestamps": [_transition(phase, made)]}
    if failure:
        status["migrationState"] = {"failed": True, "completed": True, "failureReason": failure}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {
            "name": name,
            "namespace": machine.namespace,
            "uid": uid("VirtualMachineInstanceMigration", machine.namespace, name),
            "creationTimestamp": timestamp(made),
            "generation": 1,
            "labels": {"kubevirt.io/vmi-name": machine.name},
            "annotations": {"kubevirt.io/evacuationMigration": machine.node},
        },
        "spec": {"vmiName": machine.name},
        "status": status,
    }


def _transition(phase: str, made: datetime) -> Obj:
    return {"phase": phase, "phaseTransitionTimestamp": timestamp(made + timedelta(seconds=2))}


def _budget(made: datetime, namespace: str, name: str, labels: dict[str, str]) -> Obj:
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
