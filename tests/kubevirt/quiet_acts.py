"""The usual things that happen to healthy VMs: each is waited for until it is over, and all of them run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from tests.cluster.resources import VMIS, VMS
from tests.kubevirt.stage import Answer, Stage
from tests.kubevirt.updates import disk, move_disk, outdate, outdated, plug_cpus, plug_memory, wait_applied
from tests.waiting import wait_until

__all__ = ["ACTS", "CLAIMS", "QUIET", "Act", "started"]

CLAIMS = ("old", "new")
# What can be plugged into while it runs, more than ten minutes need.
ROOM = {"cpu": {"sockets": 1, "maxSockets": 64}, "memory": {"guest": "1Gi", "maxGuest": "64Gi"}, "devices": {}}
QUIET: dict[str, dict[str, Any]] = {
    "web-1": {"eviction": "LiveMigrate"},
    "web-2": {"eviction": "LiveMigrate"},
    "db-1": {"eviction": "LiveMigrateIfPossible"},
    "db-2": {"strategy": "RerunOnFailure", "eviction": "LiveMigrate"},
    "big": {"eviction": "LiveMigrate", "domain": ROOM},
    "moved": {"eviction": "LiveMigrate", **disk(CLAIMS[0])},
    "batch": {"strategy": "Manual"},
    "old": {},
}
BY_HAND, STAYS_OFF = "batch", ("batch", "db-2")  # what somebody has to start, and once its guest has powered off
MOVE = tuple(name for name, how in QUIET.items() if "eviction" in how)
TAINT = "kubevirt.io/drain"
DESCHEDULER = "sigs.k8s.io/descheduler"
FINAL = ("Succeeded", "Failed")
PATIENCE = 120  # seconds: KubeVirt looks twice a minute for what it has to update

Act = Callable[[Stage, str], None]


def started(stage: Stage) -> None:
    """All of them run."""
    wait_until(partial(by_hand_runs, stage), PATIENCE, f"{BY_HAND} runs", every=0.5)
    for name in QUIET:
        stage.wait_running(name)


def by_hand_runs(stage: Stage) -> bool:
    phase = (stage.vmi(BY_HAND) or {}).get("status", {}).get("phase")
    if phase in (None, *FINAL):
        stage.act(BY_HAND, "start")
    return bool(phase == "Running")


def node_of(stage: Stage, name: str) -> str:
    return str(stage.wait_running(name)["status"]["nodeName"])


# -- they end


def restarted(stage: Stage, name: str) -> None:
    before = stage.wait_running(name)
    assert stage.act(name, "restart") == Answer()
    stage.wait_ended(before)
    stage.wait_running(name)


def stopped_and_started(stage: Stage, name: str) -> None:
    stage.wait_running(name)
    assert stage.act(name, "stop") == Answer()
    stage.wait_gone(name)
    assert stage.act(name, "start") == Answer()
    stage.wait_running(name)


def powered_off(stage: Stage, name: str) -> None:
    before = stage.wait_running(name)
    stage.orders.powers_off.add(stage.key(name))
    wait_until(partial(has_ended, stage, before), PATIENCE, f"the guest of {name} is off")
    stage.orders.powers_off.discard(stage.key(name))
    if name in STAYS_OFF:
        assert stage.act(name, "start") == Answer()
    stage.wait_running(name)


def has_ended(stage: Stage, before: Any) -> bool:
    vmi = stage.vmi(before["metadata"]["name"])
    other = vmi is None or vmi["metadata"]["uid"] != before["metadata"]["uid"]
    return other or bool(vmi and vmi["status"].get("phase") in FINAL)


# -- they move


def migrated(stage: Stage, name: str) -> None:
    source = node_of(stage, name)
    assert stage.act(name, "migrate") == Answer()
    stage.wait_moved(name, source)


def all_migrated(stage: Stage, _: str) -> None:
    """At once: more than KubeVirt lets migrate at a time."""
    sources = {name: node_of(stage, name) for name in MOVE}
    for name in MOVE:
        assert stage.act(name, "migrate") == Answer()
    moved(stage, sources)


def moved(stage: Stage, sources: dict[str, str]) -> None:
    for name, source in sources.items():
        stage.wait_moved(name, source)


def evicted(stage: Stage, name: str) -> None:
    """Instead of one that can't migrate by its strategy another VMI is made."""
    before = stage.wait_running(name)
    if stage.evict(name) == Answer():
        stage.wait_ended(before)
        stage.wait_running(name)
    else:
        stage.wait_moved(name, before["status"]["nodeName"])


def descheduled(stage: Stage, name: str) -> None:
    source = node_of(stage, name)
    assert stage.evict(name, by=DESCHEDULER).code == 429

    def asked() -> bool:
        """It is noted until the VMI has moved."""
        noted = (stage.vmi(name) or {})["metadata"].get("annotations", {}).get("kubevirt.io/eviction-source")
        return bool(noted) or node_of(stage, name) != source

    wait_until(asked, PATIENCE, f"{name} is asked to leave by the descheduler")
    stage.wait_moved(name, source)


def drained(stage: Stage, name: str) -> None:
    """As `kubectl drain` does it, which asks again and again; then the node takes VMs again."""
    node = node_of(stage, name)
    stage.cordon(node)
    wait_until(lambda: not evicted_from(stage, node), PATIENCE, f"{node} is empty", every=1.0)
    stage.uncordon(node)
    started(stage)


def evicted_from(stage: Stage, node: str) -> list[str]:
    """Asks each VM there to leave, and answers with their names."""
    pods = [pod for each in QUIET for pod in stage.live_pods(each) if pod["spec"].get("nodeName") == node]
    for pod in pods:
        if "deletionTimestamp" not in pod["metadata"]:
            stage.evict_pod(pod["metadata"]["name"])
    return [pod["metadata"]["name"] for pod in pods]


def tainted(stage: Stage, name: str) -> None:
    """With KubeVirt's own taint; a node with VMs that it does not move is drained instead."""
    node = node_of(stage, name)
    here = [each for each in QUIET if node_of(stage, each) == node]
    if not set(here) <= set(MOVE):
        return drained(stage, name)
    stage.taint(node, TAINT)
    moved(stage, dict.fromkeys(here, node))
    stage.untaint(node)
    return None


def updated(stage: Stage, name: str) -> None:
    """By an update of KubeVirt, which moves all that can be moved."""
    source = node_of(stage, name)
    outdate(stage, name)
    wait_until(lambda: not outdated(stage, name), PATIENCE, f"{name} is updated")
    stage.wait_moved(name, source)


def cpus_plugged(stage: Stage, name: str) -> None:
    source = node_of(stage, name)
    has = stage.client.get(VMIS, stage.namespace, name)["spec"]["domain"]["cpu"]["sockets"]
    plug_cpus(stage, name, has + 1)
    wait_applied(stage, name, PATIENCE)
    stage.wait_moved(name, source)


def memory_plugged(stage: Stage, name: str) -> None:
    source = node_of(stage, name)
    asked: str = stage.client.get(VMS, stage.namespace, name)["spec"]["template"]["spec"]["domain"]["memory"]["guest"]
    plug_memory(stage, name, f"{int(asked.removesuffix('Gi')) + 1}Gi")
    wait_applied(stage, name, PATIENCE)
    stage.wait_moved(name, source)


def volume_moved(stage: Stage, name: str) -> None:
    source = node_of(stage, name)
    (volume,) = stage.client.get(VMIS, stage.namespace, name)["spec"]["volumes"]
    (other,) = set(CLAIMS) - {volume["persistentVolumeClaim"]["claimName"]}
    move_disk(stage, name, other)
    wait_applied(stage, name, PATIENCE)
    stage.wait_moved(name, source)


ALL, ENDING = tuple(QUIET), tuple(name for name in QUIET if name != BY_HAND)
# Each with the VMs that it happens to: what ends by itself and is started by hand is left out where that is awaited.
ACTS: dict[Act, Iterable[str]] = {
    restarted: ALL,
    stopped_and_started: ALL,
    powered_off: ENDING,
    migrated: ALL,
    all_migrated: ALL,
    evicted: ENDING,
    descheduled: MOVE,
    drained: ALL,
    tainted: MOVE,
    updated: ALL,
    cpus_plugged: ("big",),
    memory_plugged: ("big",),
    volume_moved: ("moved",),
}
