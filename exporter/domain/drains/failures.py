"""What a migration failed of, by what KubeVirt and libvirt say of it, and whether the next attempt can go otherwise.

The texts are those of virt-launcher (pkg/virt-launcher/virtwrap/live-migration-source.go of kubevirt/kubevirt), of
libvirt's and QEMU's errors in it, and of virt-controller (pkg/virt-controller/watch/migration/migration.go).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ...facts.record import Record
from ...store.index import Index
from ...store.indexes.drains import PART
from ...store.indexes.networks import vm_key
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

OTHER = "Other"  # what a failure of none of the classes is called


class FailureClass(NamedTuple):
    """`lasting`: each attempt of the guest that runs now fails the same way, wherever it goes. The texts are in lower
    case; the first class that has one of them in a failure is its class.
    """

    id: str
    meaning: str
    lasting: bool
    texts: tuple[str, ...]


CLASSES = (
    FailureClass("SameHost", "source and target node have the same system UUID", True, ("same host",)),
    FailureClass(
        "CPU",
        "the guest started with a CPU that the target node does not offer",
        True,
        (
            *("extra features", "missing features", "doesn't match specification", "not compatible with host cpu"),
            *("incompatible with host cpu", "unknown cpu model", "cpu mode"),
        ),
    ),
    FailureClass(
        "DeviceState",
        "QEMU on the target node can't load the state of the guest's devices",
        True,
        (
            *("while loading state", "load of migration failed", "unsupported. allowed features", "failed to load "),
            *("machine type", "savevm section", "missing section footer"),
        ),
    ),
    FailureClass(
        "Timeout",
        "the guest writes to its memory faster than it is copied",
        False,
        ("stuck for", "not completed after", "is not progressing", "completion timeout", "implied downtime"),
    ),
    FailureClass(
        "Disk",
        "a disk can't be used on the target node",
        False,
        (
            *('"write" lock', "no space left", "input/output error", "could not open", "cannot access storage"),
            *("no such file or directory", "block device", "blockdev", "permission denied"),
        ),
    ),
    FailureClass(
        "Memory",
        "the target node has too little memory for the guest",
        False,
        ("cannot allocate memory", "out of memory", "unable to allocate", "insufficient memory", "locked memory"),
    ),
    FailureClass(
        "Connection",
        "the connection between source and target failed",
        False,
        (
            *("connection refused", "connection reset", "connection timed out", "i/o timeout", "unable to connect"),
            *("end of file", "broken pipe", "socket is closed", "no route to host", "unreachable", "tls", "x509"),
            *("certificate", "keepalive", "closed connection", "unexpectedly closed the monitor"),
        ),
    ),
    FailureClass("Aborted", "it was aborted", False, ("abort", "cancel")),
)


def classified(failure: str) -> FailureClass | None:
    """None for a text that says nothing that is known."""
    lower = failure.lower()
    return next((each for each in CLASSES if any(text in lower for text in each.texts)), None)


class FailedMigration(Struct, frozen=True, gc=False):
    """One migration that failed. `at` is when, in seconds since 1970, None where no object tells; `uid` that of the
    VirtualMachineInstanceMigration, and `migration` its name, empty where only the VMI's status tells of it; `failure`
    the id of a class, or Other; `text` what KubeVirt says of it; `made_for` why it was made, in words. Texts that are
    not known are empty.
    """

    at: float | None
    uid: str
    migration: str
    failure: str
    text: str
    made_for: str


class Sharing(Protocol):
    """A cluster that keeps the index `PART`, or a view that declares it."""

    def sharing(self, index: Index, key: str, /) -> Iterable[Record]: ...


def failures_shown(view: Sharing, vmi: VirtualMachineInstance) -> tuple[FailedMigration, ...]:
    """The failed migrations of a VMI that the objects still show, newest first.

    KubeVirt keeps the last five finished migrations of a VMI, and the VMI's status tells of the last one
    (garbageCollectFinalizedMigrations of pkg/virt-controller/watch/migration/migration.go). What was created before
    the VMI was of an earlier one of its name.
    """
    last, began = failure_of(vmi), vmi.created or 0.0
    own = [
        each
        for each in view.sharing(PART, vm_key(vmi.namespace, vmi.name))
        if isinstance(each, VirtualMachineInstanceMigration) and (each.created or 0.0) >= began
    ]
    found = {each.uid: failed_migration(each, vmi) for each in own if each.phase == "Failed"}
    if last is not None and last.uid not in found:
        made = next((each for each in own if each.uid == last.uid), None)
        if made is None:
            found[last.uid] = last
        elif not made.finished:  # virt-controller is about to say the same of it
            found[last.uid] = replace(last, migration=made.name, made_for=made.made_for)
    return tuple(sorted(found.values(), key=lambda each: (each.at or 0.0, each.uid), reverse=True))


def failed_migration(migration: VirtualMachineInstanceMigration, vmi: VirtualMachineInstance | None) -> FailedMigration:
    """Of one whose phase is Failed. What KubeVirt says of it stands in the status of its VMI first.

    One that is deleted while it is pending fails without a text.
    """
    last = failure_of(vmi) if vmi is not None else None
    own = last if last is not None and last.uid == migration.uid else None
    text = migration.failure or (own.text if own is not None else "")
    at = migration.phase_since or (own.at if own is not None else None) or migration.created
    aborted = not text and migration.deleting is not None and migration.deleting <= (at or 0.0)
    failure = "Aborted" if aborted else _class_of(text)
    return FailedMigration(at, migration.uid, migration.name, failure, text, migration.made_for)


def failure_of(vmi: VirtualMachineInstance) -> FailedMigration | None:
    """What the status of a VMI alone tells of its last migration, where that failed."""
    last = vmi.migration
    if last is None or not last.failed or last.ended is None or not last.uid:
        return None
    return FailedMigration(last.ended, last.uid, "", _class_of(last.failure), last.failure, "")


def _class_of(text: str) -> str:
    found = classified(text)
    return found.id if found is not None else OTHER
