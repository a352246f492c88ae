"""What is wrong with instancetypes and preferences in the sample fleet: one function per case.

`offered` has those that the VMs refer to.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from ..apiserver.registry import timestamp
from ..apiserver.resources import Obj
from .instancetypes import copy, copy_name, kept
from .networks import NODES
from .objects import condition, new
from .samples import SampleVM, complete, uid, virtual_machine
from .trouble import Case, trouble

SIGNALLING = "signalling"
_CLUSTER = "VirtualMachineClusterInstancetype"
_OURS = {"instancetype.kubevirt.io/vendor": "kubevirt.io", "app.kubernetes.io/managed-by": "virt-operator"}


def offered(now: datetime) -> dict[str, Obj]:
    """By name."""
    born = timestamp(now - timedelta(days=190))
    sizes = {"u1.medium": (1, "4Gi"), "u1.large": (2, "8Gi"), "u1.xlarge": (4, "16Gi"), "o1.large": (2, "8Gi")}
    specs = {name: {"cpu": {"guest": cpus}, "memory": {"guest": memory}} for name, (cpus, memory) in sizes.items()}
    made = {name: kept(_CLUSTER, "", name, spec, **_meta(_CLUSTER, name, born)) for name, spec in specs.items()}
    kind, name = "VirtualMachineClusterPreference", "windows.11"
    wants = {
        "cpu": {"preferredCPUTopology": "sockets"},
        "devices": {"preferredDiskBus": "sata"},
        "requirements": {"cpu": {"guest": 2}, "memory": {"guest": "4Gi"}},
    }
    return {**made, name: kept(kind, "", name, wants, **_meta(kind, name, born)), SIGNALLING: signalling(born)}


def signalling(born: str, generation: str = "") -> Obj:
    """The instancetype of a namespace; `generation` tells one from the next that is created under its name."""
    kind = "VirtualMachineInstancetype"
    own = uid(kind, "telecom", SIGNALLING, generation)
    spec = {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}}
    return kept(kind, "telecom", SIGNALLING, spec, uid=own, created=born, generation=1)


def _meta(kind: str, name: str, born: str) -> Obj:
    return {"uid": uid(kind, "", name), "created": born, "generation": 1, "labels": _OURS}


UNVERSIONED = ("smsc-3", "smsc-4")
"""The VMs of namespace telecom that have no copy of their instancetype."""
_UNGUARDED = "and nothing prevents its deletion"


def lost(now: datetime) -> list[Case]:
    return [case(now) for case in _CASES]


def without_copies(now: datetime) -> Case:
    of = offered(now)[SIGNALLING]
    objects, troubles = [], []
    for i, name in enumerate(UNVERSIONED):
        made = _without_copies(complete(_sample(now, "telecom", name, 160 + i, i, instancetype=of)))
        del made[0]["status"]["instancetypeRef"]
        objects += made
        troubles.append(trouble(made[0], "was restored without its status: its instancetype isn't pinned"))
    return Case(objects, [*troubles, trouble(of, "two VMs depend on it, and it can be deleted")])


def never_created(now: datetime) -> Case:
    of = kept(_CLUSTER, "", "u1.2xlarge", {}, uid="none", generation=1)
    vm, disk, *_ = complete(_sample(now, "lab", "gitops-demo", 162, instancetype=of))
    vm["spec"]["runStrategy"] = "Always"
    del vm["status"]["instancetypeRef"]
    _fails(vm, now, f'{_CLUSTER.lower()}s.instancetype.kubevirt.io "u1.2xlarge" not found')
    return Case([vm, disk], [trouble(vm, "can't start: its instancetype was never created")])


def copy_deleted(now: datetime) -> Case:
    made = _without_copies(complete(_sample(now, "billing", "payments-db", 163, 0, instancetype=_large(now))))
    name = made[0]["status"]["instancetypeRef"]["controllerRevisionRef"]["name"]
    _fails(made[0], now, f'controllerrevisions.apps "{name}" not found')
    wrong = "its ControllerRevision was deleted: it can't be stopped or restarted"
    return Case(made, [trouble(made[0], wrong)])


def misspelt_kind(now: datetime) -> Case:
    vm, disk, *_ = complete(_sample(now, "lab", "typo", 164, instancetype=_large(now)))
    vm["spec"]["instancetype"]["kind"] = "ClusterInstancetype"
    del vm["status"]["instancetypeRef"]
    _fails(vm, now, "got unexpected kind in InstancetypeMatcher: ClusterInstancetype")
    return Case([vm, disk], [trouble(vm, "its matcher has an unknown kind")])


def too_old(now: datetime) -> Case:
    of = _large(now)
    vm, disk, *_ = complete(_sample(now, "windows-desktops", "archive-1", 165, instancetype=of))
    old = copy(vm, of, version="v1alpha2", uid=uid("archive-1's copy"), created=vm["metadata"]["creationTimestamp"])
    _fails(vm, now, "failed to decode object in ControllerRevision")
    wrong = "its ControllerRevision can't be decoded by KubeVirt 1.7"
    return Case([vm, disk, old], [trouble(vm, wrong)])


def pinned_to_a_bare_one(now: datetime) -> Case:
    of = _large(now)
    vm, disk, *_ = complete(_sample(now, "shop", "pinned", 166, instancetype=of))
    bare = copy(vm, of, name="u1-large-by-hand", labels={}, uid=uid("u1-large-by-hand"), created=_ago(now, days=2))
    vm["spec"]["instancetype"]["revisionName"] = "u1-large-by-hand"
    del vm["status"]["instancetypeRef"]
    return Case(
        [vm, disk, bare], [trouble(vm, "is pinned to a ControllerRevision without labels, which KubeVirt deletes")]
    )


def sets_memory_itself(now: datetime) -> Case:
    of = offered(now)["o1.large"]
    vm, disk, *_ = complete(_sample(now, "lab", "heavy", 167, instancetype=of))
    vm["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "24Gi"}
    del vm["status"]["instancetypeRef"]
    wrong = "sets memory, which its instancetype also sets"
    troubles = [trouble(vm, f"{wrong}: it can't start"), trouble(of, f"its VM has no copy, {_UNGUARDED}")]
    return Case([vm, disk], troubles)


def too_small(now: datetime) -> Case:
    by_name = offered(now)
    sample = _sample(now, "windows-desktops", "mini", 168, instancetype=by_name["u1.medium"])
    vm, *rest = complete(replace(sample, preference=by_name["windows.11"]))
    return Case([vm, *rest], [trouble(vm, "has 1 CPU, but its preference now requires 2")])


def shared(now: datetime) -> Case:
    of = _large(now)
    first = complete(_sample(now, "shop", "booking", 169, instancetype=of))
    name = copy_name(first[0], of)
    clone = _without_copies(complete(_sample(now, "shop", "booking-clone", 170, instancetype=of)))
    clone[0]["status"]["instancetypeRef"]["controllerRevisionRef"]["name"] = name
    return Case(
        [*first, *clone], [trouble(clone[0], "its ControllerRevision belongs to booking, and is deleted with it")]
    )


def left_over(now: datetime) -> Case:
    vm = virtual_machine(_sample(now, "shop", "booking", 169, instancetype=_large(now)))
    earlier = copy(vm, offered(now)["u1.medium"], uid=uid("booking's earlier copy"), created=_ago(now, days=20))
    return Case([earlier], [trouble(earlier, "nothing needs it")])


def pool_without(now: datetime) -> Case:
    vm = virtual_machine(_sample(now, "lab", "burst", 171, instancetype=_large(now)))
    vm["spec"]["instancetype"]["name"] = "u1.burst"
    del vm["spec"]["template"]["spec"]["domain"]["firmware"]
    labels = {"app": "burst"}
    pool = new(
        "VirtualMachinePool",
        "lab",
        "burst",
        uid=uid("VirtualMachinePool", "lab", "burst"),
        created=_ago(now, days=5),
        generation=1,
        spec={
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "virtualMachineTemplate": {"metadata": {"labels": labels}, "spec": vm["spec"]},
        },
    )
    return Case([pool], [trouble(pool, "its template's instancetype doesn't exist: its next VM can't start")])


def preset(now: datetime) -> Case:
    made = complete(_sample(now, "lab", "old-style", 172, 2))
    applied = new(
        "VirtualMachineInstancePreset",
        "lab",
        "io-threads",
        uid=uid("VirtualMachineInstancePreset", "lab", "io-threads"),
        created=_ago(now, days=150),
        generation=1,
        spec={"selector": {"matchLabels": {"io": "threads"}}, "domain": {"devices": {}, "ioThreadsPolicy": "shared"}},
    )
    vmi = next(each for each in made if each["kind"] == "VirtualMachineInstance")
    vmi["metadata"]["annotations"]["virtualmachinepreset.kubevirt.io/io-threads"] = "kubevirt.io/v1"
    vmi["spec"]["domain"]["ioThreadsPolicy"] = "shared"
    return Case([*made, applied], [trouble(vmi, "gets its I/O threads from a preset, which KubeVirt will remove")])


_CASES: tuple[Callable[[datetime], Case], ...] = (
    without_copies,
    never_created,
    copy_deleted,
    misspelt_kind,
    too_old,
    pinned_to_a_bare_one,
    sets_memory_itself,
    too_small,
    shared,
    left_over,
    pool_without,
    preset,
)


def _sample(
    now: datetime, namespace: str, name: str, number: int, node: int | None = None, instancetype: Obj | None = None
) -> SampleVM:
    return SampleVM(
        namespace=namespace,
        name=name,
        now=now,
        node="" if node is None else NODES[node],
        number=number,
        age=timedelta(days=number - 130),
        memory=instancetype["spec"].get("memory", {}).get("guest", "2Gi") if instancetype else "2Gi",
        instancetype=instancetype,
    )


def _large(now: datetime) -> Obj:
    return offered(now)["u1.large"]


def _ago(now: datetime, days: int) -> str:
    return timestamp(now - timedelta(days=days))


def _without_copies(objects: list[Obj]) -> list[Obj]:
    return [obj for obj in objects if obj["kind"] != "ControllerRevision" or "labels" not in obj["metadata"]]


def _fails(vm: Obj, now: datetime, message: str) -> None:
    since = _ago(now, days=1)
    vm["status"]["conditions"].append(
        condition("Failure", True, since, reason="FailedFindInstancetype", message=message)
    )
