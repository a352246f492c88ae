"""What has to hold of a write to a VM's firmware, for its guest and for those who know it by its UUID."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from exporter.facts.firmware import legacy
from reconcile.plan.remediations.identity.reassign_firmware_uuid import ALLOWED

from .access import COMPLETED
from .network import LINK
from .saving import under_way
from .world import Change, Obj, World, meta_of, owned_by
from .writer import Write

__all__ = ["PLACEHOLDER", "Firmware", "domain_of", "identifies", "uuid_of"]

PLACEHOLDER = "03000200-0400-0500-0006-000700080009"
"""One that mainboards come with."""

_UNSEEN = 10.0  # seconds in which virt-controller may not have seen a change of the VM that it starts
_NOBODYS = (PLACEHOLDER, str(UUID(int=0)), str(UUID(int=2**128 - 1)))
_VM, _VMI = "VirtualMachine", "VirtualMachineInstance"
_APPLIED, _ARGO = "kubectl.kubernetes.io/last-applied-configuration", "argocd.argoproj.io/tracking-id"


def domain_of(thing: Obj) -> Obj:
    """Of a VM or a VMI."""
    spec = thing["spec"]["template"]["spec"] if thing["kind"] == _VM else thing["spec"]
    return spec.get("domain") or {}


def identifies(uuid: str) -> bool:
    """Whether it is a UUID, and somebody's."""
    try:
        return str(UUID(uuid)) not in _NOBODYS
    except ValueError:
        return False


def uuid_of(thing: Obj) -> str:
    uuid: str = (domain_of(thing).get("firmware") or {}).get("uuid") or ""
    return uuid


@dataclass
class Firmware:
    """Of all VMs of the cluster, which are in a long list, what there was has to be seen when the sidecar began to read
    for the last time.
    """

    world: World
    seen: float = 3 * LINK
    _ran: dict[str, tuple[str, float]] = field(default_factory=dict)  # what ran last, and until when, by VM
    _had: list[tuple[str, str, float]] = field(default_factory=list)  # VM or VMI, the UUID that it lost, and when
    _run: dict[tuple[str, str], float] = field(
        default_factory=dict
    )  # since when it was seen by a guest, by VM and UUID
    _edited: dict[str, float] = field(default_factory=dict)  # when somebody wrote the UUID of a VM last
    _got: dict[tuple[str, str], float] = field(default_factory=dict)  # since when, by kind and name

    def __post_init__(self) -> None:
        self.world.watches.append(self._watch)

    def _watch(self, change: Change) -> None:
        kind, _, name = change.key
        if kind not in (_VM, _VMI):
            return
        had = uuid_of(change.before) if change.before is not None else ""
        if change.after is None or change.before is None or uuid_of(change.after) != had:
            self._got[kind, name] = self.world.now
            if kind == _VM and change.before is not None and not change.by.startswith("steward"):
                self._edited[name] = self.world.now
            if change.before is not None:
                self._had.append((name, had, self.world.now))
        if kind == _VMI and change.after is not None:
            self._run.setdefault((name, uuid_of(change.after)), self.world.now)
        if kind == _VMI and change.after is None:
            self._ran[name] = had, self.world.now

    def of(self, write: Write) -> Iterator[tuple[str, str]]:
        before, after = write.before, write.after
        if before is None or after is None:
            return
        running = self.world.get(_VMI, meta_of(before)["name"])
        yield from self.changes(before)
        assert write.plan is not None
        if write.plan.remediation == "persist_firmware_uuid":
            yield from self._persisted(before, after, running, write.began)
        elif write.plan.remediation == "replace_invalid_uuid":
            yield from self._replaced(before, after, write.began)
        else:
            yield from self._reassigned(before, after, write.began)

    def changes(self, before: Obj) -> Iterator[tuple[str, str]]:
        """What holds of any write to a VM's spec."""
        meta = meta_of(before)
        for each in meta.get("ownerReferences") or ():
            yield "made by nobody else", f"{each['kind']} makes it from a template"
        if _ARGO in (meta.get("annotations") or {}):
            yield "made by nobody else", "Argo CD brings its spec from Git"
        yield from self._ending(meta)
        yield from self._saved(before)

    def _ending(self, meta: Obj) -> Iterator[tuple[str, str]]:
        if meta.get("deletionTimestamp"):
            yield "what ends is left", "it is being deleted"
        namespace = self.world.get("Namespace", "ns", "")
        since = meta_of(namespace).get("deletionTimestamp") if namespace is not None else None
        if since is not None and self.world.now - datetime.fromisoformat(since).timestamp() > self.seen:
            yield "what ends is left", "its namespace is being deleted"

    def _saved(self, before: Obj) -> Iterator[tuple[str, str]]:
        name = meta_of(before)["name"]
        if (before.get("status") or {}).get("snapshotInProgress"):
            yield "nothing is restored", "a snapshot of it is being taken"
        for what in under_way(self.world, name, self.seen):
            yield "nothing is restored", what
        for each in self.world.all("VirtualMachineInstanceMigration"):
            moves = each["spec"]["vmiName"] == name and each["status"]["phase"] not in COMPLETED
            if moves and self.world.age(each) > self.seen:
                yield "nothing moves", f"migration {meta_of(each)['name']} is {each['status']['phase']}"
        if before["spec"].get("runStrategy") == "WaitAsReceiver":
            yield "nothing moves", "it waits for a VMI that comes with a UUID"

    def _persisted(self, before: Obj, after: Obj, running: Obj | None, began: float) -> Iterator[tuple[str, str]]:
        name, old, now = meta_of(before)["name"], uuid_of(before), uuid_of(after)
        if now in _NOBODYS:
            yield "its own", f"{now} identifies nobody"
        if old and f'"{old}"' in str((meta_of(before).get("annotations") or {}).get(_APPLIED)):
            yield "what is applied stays", "a manifest sets the UUID that it had"
        if old and (others := sorted(self.having(now, name, began))):
            yield "its own", f"it gets {now}, which {others[0]} has"
        if running is not None:
            edited = self._edited.get(name, 0.0)
            if old and edited > self.world.born[meta_of(running)["uid"]] - _UNSEEN:
                yield "what is meant stays", f"somebody wrote {old} while it ran, or right before"
            if uuid_of(running) != now:
                yield "identity in use", f"it gets {now}, and runs with {uuid_of(running)}"
            if not meta_of(running).get("ownerReferences"):
                yield "identity in use", "what runs under its name is not its own"
            return
        uuid, until = self._ran.get(name, ("", 0.0))
        just_now = uuid == now and self.world.now - until < self.seen
        if now != (old or legacy(name)) and not just_now:
            yield "identity in use", f"it gets {now}, and would have started with {old or legacy(name)}"
        for each in self.world.all("VirtualMachineRestore"):
            if each["status"].get("restoreTime"):
                yield "nothing is restored", "it was restored a moment ago"

    def next_of(self, vm: Obj) -> str:
        """The UUID with which a VM is started."""
        return uuid_of(vm) or legacy(meta_of(vm)["name"])

    def has_seen(self, name: str, uuid: str) -> bool:
        """Whether a guest of a VM has run with a UUID, as far as that could be seen."""
        return self.world.now - self._run.get((name, uuid), self.world.now) > self.seen

    def having(self, uuid: str, name: str, since: float) -> Iterator[str]:
        """The other VMs and VMIs that have had a UUID since then."""
        for each in (*self.world.all(_VM), *self.world.all(_VMI)):
            other = meta_of(each)["name"]
            if other != name and uuid_of(each) == uuid and self._got.get((each["kind"], other), 0.0) < since:
                yield other

    def off(self, before: Obj) -> Iterator[tuple[str, str]]:
        """What holds where a guest must not see the write before its next start."""
        name = meta_of(before)["name"]
        running = self.world.get(_VMI, name)
        if running is not None:
            yield "identity in use", f"its VMI is {running['status']['phase']}"
        for pod in self.world.all("Pod"):
            launches = meta_of(pod)["annotations"].get("kubevirt.io/domain") == name
            if launches and pod["status"]["phase"] not in COMPLETED and self.world.age(pod) > self.seen:
                yield "identity in use", f"its launcher pod {meta_of(pod)['name']} runs"
        if before["spec"].get("runStrategy") not in ("Halted", "Manual"):
            yield "identity in use", f"it starts by itself: {before['spec'].get('runStrategy')}"
        if (before.get("status") or {}).get("stateChangeRequests"):
            yield "identity in use", "somebody has asked for it to start"

    def _keeps(self, before: Obj) -> Iterator[tuple[str, str]]:
        for each in owned_by(self.world.all("PersistentVolumeClaim"), meta_of(before)["uid"]):
            yield "state is kept", f"what {meta_of(each)['name']} holds is kept under the UUID that it loses"

    def _replaced(self, before: Obj, after: Obj, began: float) -> Iterator[tuple[str, str]]:
        yield from self.off(before)
        yield from self._keeps(before)
        if identifies(uuid_of(before)):
            yield "identity in use", f"{uuid_of(before)}, which it loses, identifies it"
        if not identifies(uuid_of(after)):
            yield "its own", f"{uuid_of(after)} identifies nobody"
        if others := sorted(self.having(uuid_of(after), meta_of(before)["name"], began)):
            yield "its own", f"it gets {uuid_of(after)}, which {others[0]} has"

    def _reassigned(self, before: Obj, after: Obj, began: float) -> Iterator[tuple[str, str]]:
        old, name = uuid_of(before), meta_of(before)["name"]
        yield from self.off(before)
        yield from self._keeps(before)
        for each in self.world.all("VirtualMachineSnapshotContent"):
            saved = each["spec"]["source"]["virtualMachine"]
            if saved["metadata"]["name"] == name and not uuid_of({"kind": _VM, **saved}):
                yield "state is kept", f"a restore of {meta_of(each)['name']} no longer brings its UUID back"
        others = [each for each in (*self.world.all(_VM), *self.world.all(_VMI)) if meta_of(each)["name"] != name]
        if any(uuid_of(each) == uuid_of(after) for each in others):
            yield "its own", f"another one has {uuid_of(after)} too"
        sharing = [each for each in others if uuid_of(each) == old]
        if self._shared_since(began, old, name):
            return
        yield from self._kept(before, sharing) if sharing else (("its own", f"nobody else has {old}"),)

    def _kept(self, before: Obj, sharing: list[Obj]) -> Iterator[tuple[str, str]]:
        """One that has more of a right to the UUID keeps it, and nobody gets that right in another namespace."""
        name = meta_of(before)["name"]
        if _critical(before):
            yield "the one entitled keeps it", "it is critical"
        own = self._right(before, runs=False)
        better = [each for each in sharing if self._right(each, runs=self._runs(each)) <= own]  # of the same second any
        if not better:
            yield (
                "the one entitled keeps it",
                f"none of those that share the UUID of {name} has as much of a right to it",
            )
        namespaces = {meta_of(each)["namespace"] for each in better}
        if better and "ns" not in namespaces and ALLOWED not in (meta_of(before).get("annotations") or {}):
            yield "the one entitled keeps it", f"whoever may create VMs in {min(namespaces)} has taken it away"

    def _runs(self, thing: Obj) -> bool:
        return self.world.get(_VMI, meta_of(thing)["name"], meta_of(thing)["namespace"]) is not None

    def _right(self, thing: Obj, *, runs: bool) -> tuple[bool, bool, bool, str]:
        """What speaks for one to keep the UUID; the least is the best."""
        meta = meta_of(thing)
        return not _critical(thing), not runs, legacy(meta["name"]) != uuid_of(thing), meta["creationTimestamp"]

    def _shared_since(self, began: float, uuid: str, name: str) -> bool:
        """By one that has lost it since then."""
        since = min(began, self.world.now - self.seen)
        return any(by != name and had == uuid and until >= since for by, had, until in self._had)


def _critical(thing: Obj) -> bool:
    spec = thing["spec"]["template"]["spec"] if thing["kind"] == _VM else thing["spec"]
    return "priorityClassName" in spec
