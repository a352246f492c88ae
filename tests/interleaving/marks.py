"""VMs that share a serial and a MAC address, since one is a copy, or since somebody says so: how they begin, and what
people do to them. What has to hold of a write to one is in `marked`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from uuid import uuid5

from demo.fleet import objects
from demo.fleet.objects import owner
from demo.fleet.surroundings import kubevirt
from exporter.facts.firmware import group_id
from exporter.facts.record import Ref
from reconcile.decide.repair import Hint
from reconcile.plan.remediations.identity import reassign_mac_address, reassign_serial
from reconcile.plan.remediations.identity._identities import ALLOWED

from .identity import domain_of
from .made import launched, started
from .marked import mac_of, serial_of
from .people import delete_namespace, migrate, recreate_vm, restored, start_or_stop, vm
from .platform import Platform
from .stashing import started_with
from .steward import hint_for
from .world import Obj, World, meta_of, with_meta

__all__ = ["ACTS", "begin", "hint"]

_VM, _VMI = "VirtualMachine", "VirtualMachineInstance"
_SERIAL, _MAC = "s-1", "02:aa:00:00:00:01"
_RESTORED, _ARGO = "restore.kubevirt.io/lastRestoreUID", "argocd.argoproj.io/tracking-id"
_OLDEST, _OLD, _LATER = "2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-07-01T00:00:00Z"
_ODD = (
    *("", "", "", "", "", "", "unmarked", "made anew", "older", "elsewhere", "backup", "allowed", "original is a copy"),
    *("of a pool", "of Git", "being saved", "asked to start", "lost pod", "given before", "saved before"),
)
Act = Callable[[World, Platform, Random], Iterator[None]]


def begin(world: World, platform: Platform, rng: Random) -> None:
    """VM `db`, a copy of VM `web`; often with something that is odd about them."""
    world.create(kubevirt("kubevirt", "kubevirt", "v1.7.1"), "admin")
    platform.keeping = True
    odd = rng.choice(_ODD)
    web = _marked(vm("web", rng.choice(("Always", "Halted")), created=_LATER if odd == "older" else _OLDEST))
    if odd == "elsewhere":
        web = with_meta(web, namespace="tenant")
    web = world.create(web, "user")
    if web["spec"]["runStrategy"] == "Always" and odd != "elsewhere":
        _run(world, web)
    strategy = "Manual" if odd == "asked to start" else rng.choice(("Halted", "Halted", "Halted", "Always"))
    strategy = "Halted" if odd == "lost pod" else strategy
    db = world.create(_varied(_marked(vm("db", strategy, uid="u-db", created=_OLD)), odd), "restore")
    if strategy == "Always":
        _run(world, db)
    _cloned(world, "db")
    if odd == "original is a copy":
        _cloned(world, "web")
    if odd == "saved before":
        _saved(world, db)
    if odd == "given before":
        world.create(_marked(vm("before", "Halted"), *_new(db)), "user")
    if odd == "lost pod":
        pod = launched(with_meta(started(db), uid="u-vmi"), "virt-launcher-db-0", "db.blue")
        pod = with_meta(pod, ownerReferences=[]) | {"status": pod["status"] | {"phase": "Running"}}
        world.create(pod, "virt-controller")
    world.born = {uid: since - 3600 for uid, since in world.born.items()}


def _new(db: Obj) -> tuple[str, str]:
    """The serial and the MAC address that it gets."""
    serial = str(uuid5(reassign_serial._NAMESPACE, f"{meta_of(db)['uid']} {_SERIAL}"))
    return serial, reassign_mac_address.drawn(meta_of(db)["uid"], "blue", _MAC)


def _marked(made: Obj, serial: str = _SERIAL, mac: str = _MAC) -> Obj:
    domain = made["spec"]["template"]["spec"]["domain"]
    domain["firmware"] = (domain.get("firmware") or {}) | {"serial": serial}
    domain["devices"]["interfaces"][0] |= {"macAddress": mac}
    return made


def _varied(made: Obj, odd: str) -> Obj:
    notes: dict[str, str] = {} if odd in ("unmarked", "made anew", "backup") else {_RESTORED: "r"}
    if odd == "allowed":
        notes[ALLOWED] = "true"
    if odd == "of Git":
        notes[_ARGO] = "shop:kubevirt.io/VirtualMachine:ns/db"
    made = with_meta(made, annotations=notes)
    if odd == "backup":
        made = with_meta(made, labels={"velero.io/restore-name": "r"})
    if odd == "of a pool":
        made = with_meta(made, ownerReferences=[owner("VirtualMachinePool", "p", "u-p", "pool.kubevirt.io/v1beta1")])
    if odd == "being saved":
        made |= {"status": {"snapshotInProgress": "s1"}}
    if odd == "asked to start":
        made |= {"status": {"printableStatus": "Provisioning", "stateChangeRequests": [{"action": "Start"}]}}
    return made


def _cloned(world: World, target: str) -> None:
    ref = {"apiGroup": "kubevirt.io", "kind": _VM}
    spec = {"source": ref | {"name": "web"}, "target": ref | {"name": target}}
    made = objects.new("VirtualMachineClone", "ns", f"of-{target}", spec=spec, status={"phase": "Succeeded"})
    world.create(made, "user")


def _saved(world: World, of: Obj) -> None:
    """A snapshot of the copy: others may have been made of that."""
    saved = {"metadata": {"name": "db", "namespace": "ns"}, "spec": of["spec"]}
    spec = {"source": {"virtualMachine": saved}, "virtualMachineSnapshotName": "s"}
    world.create(objects.new("VirtualMachineSnapshotContent", "ns", "vmsnapshot-content-s", spec=spec), "user")


def _run(world: World, made: Obj) -> None:
    running = started_with(world, made, started(made))
    running["status"]["phase"] = "Running"
    running = world.create(running, "virt-controller")
    name = meta_of(made)["name"]
    pod = launched(running, f"virt-launcher-{name}-0", f"{name}.blue")
    world.create(pod | {"status": pod["status"] | {"phase": "Running"}}, "virt-controller")


def hint(world: World, rng: Random) -> tuple[str, Hint] | None:
    """What may have been found of VM `db`."""
    found = world.get(_VM, "db")
    if found is None:
        return None
    ref = Ref(_VM, "ns", "db", meta_of(found)["uid"])
    if rng.random() < 0.5:
        group = group_id(serial_of(found))
        return "reassign_serial", hint_for("firmware_serials", "SerialDuplicate", ref, group)
    group = group_id(f"layer2 tenantblue {mac_of(found)}")
    together = all(world.get(_VMI, name) is not None for name in ("db", "web"))
    likely = "DuplicateMAC" if together else "LatentDuplicateMAC"
    reason = likely if rng.random() < 0.8 else rng.choice(("DuplicateMAC", "LatentDuplicateMAC"))
    return "reassign_mac_address", hint_for("mac_duplicates", reason, ref, group)


def _changed(world: World, name: str, serial: str, mac: str) -> None:
    found = world.get(_VM, name)
    if found is None:
        return
    domain = domain_of(found)
    firmware = (domain.get("firmware") or {}) | {"serial": serial}
    interfaces = [each | {"macAddress": mac} for each in domain["devices"]["interfaces"]]
    domain = domain | {"firmware": firmware, "devices": domain["devices"] | {"interfaces": interfaces}}
    template = found["spec"]["template"]
    spec = found["spec"] | {"template": template | {"spec": template["spec"] | {"domain": domain}}}
    world.change(found, "user", lambda now: now | {"spec": spec})


def edit(world: World, _: Platform, rng: Random) -> Iterator[None]:
    yield
    serial, mac = rng.choice((_SERIAL, "s-2")), rng.choice((_MAC, "02:aa:00:00:00:02"))
    _changed(world, rng.choice(("db", "web")), serial, mac)


def restart(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """`kubectl delete vmi`."""
    yield
    if world.get(_VMI, "db") is not None:
        world.delete((_VMI, "ns", "db"), "user")


def delete_other(world: World, _: Platform, rng: Random) -> Iterator[None]:
    yield
    if world.get(_VM, "web") is not None:
        world.delete((_VM, "ns", "web"), "user")


def later_without_the_other(world: World, platform: Platform, rng: Random) -> Iterator[None]:
    """Once the copy has what is its own, the original goes, and the copy is started."""
    for _ in range(200):
        found, other = world.get(_VM, "db"), world.get(_VM, "web")
        if found is None or other is None or (serial_of(found), mac_of(found)) != (serial_of(other), mac_of(other)):
            break
        yield
    yield from delete_other(world, platform, rng)
    if found is not None and (now := world.get(_VM, "db")) is not None:
        world.change(now, "user", lambda each: each | {"spec": each["spec"] | {"runStrategy": "Always"}})


def copy_vm(world: World, _: Platform, rng: Random) -> Iterator[None]:
    """Another copy comes, of the copy as it is then."""
    yield
    found = world.get(_VM, "db")
    if found is not None and world.get(_VM, "copy") is None:
        world.create(_marked(vm("copy", "Halted"), serial=serial_of(found), mac=mac_of(found)), "user")


ACTS: tuple[Act, ...] = (
    edit,
    edit,
    restart,
    start_or_stop,
    start_or_stop,
    later_without_the_other,
    later_without_the_other,
    delete_other,
    copy_vm,
    migrate,
    recreate_vm,
    restored,
    delete_namespace,
)
