"""What a migration failed of, by what KubeVirt and libvirt say of it, and whether the next attempt can go otherwise.

The texts are those of virt-launcher (pkg/virt-launcher/virtwrap/live-migration-source.go of kubevirt/kubevirt), of
libvirt's and QEMU's errors in it, and of virt-controller (pkg/virt-controller/watch/migration/migration.go).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from msgspec import Struct

from ...store.index import Index
from ...store.indexes.networks import vm_key
from ...store.indexes.nodes import PART
from ...store.kinds.virtual_machine_instance import Migration, VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ...store.record import Record

__all__ = ["CLASSES", "OTHER", "FailedMigration", "FailureClass", "classified", "failed_migration", "failures_shown"]

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
    FailureClass("SameHost", "source and target have one system UUID", True, ("same host",)),
    FailureClass(
        "CPU",
        "the CPU that the guest was started with is not the one that it gets at the target",
        True,
        (
            *("extra features", "missing features", "doesn't match specification", "not compatible with host cpu"),
            *("incompatible with host cpu", "unknown cpu model", "cpu mode"),
        ),
    ),
    FailureClass(
        "DeviceState",
        "QEMU at the target can't load the state of the guest's devices",
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
        ("stuck for", "not completed after", "is not progressing", "completion timeout"),
    ),
    FailureClass(
        "Disk",
        "a disk can't be used at the target",
        False,
        (
            *('"write" lock', "no space left", "input/output error", "could not open", "cannot access storage"),
            *("no such file or directory", "block device", "blockdev", "permission denied"),
        ),
    ),
    FailureClass(
        "Memory",
        "the memory of the guest can't be had at the target",
        False,
        ("cannot allocate memory", "out of memory", "unable to allocate", "insufficient memory", "locked memory"),
    ),
    FailureClass(
        "Connection",
        "source and target lost each other, or never met",
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
    """A cluster, or a view of it that declares the index `PART`."""

    def sharing(self, index: Index, key: str, /) -> Iterable[Record]: ...


def failures_shown(view: Sharing, vmi: VirtualMachineInstance) -> tuple[FailedMigration, ...]:
    """The failed migrations of a VMI that the objects still show, newest first.

    KubeVirt keeps five migrations of a VMI; of the last one its status tells too. What was created before the VMI was
    of an earlier one of its name.
    """
    last, began = vmi.migration, vmi.created or 0.0
    found = {
        each.uid: failed_migration(each, last)
        for each in view.sharing(PART, vm_key(vmi.namespace, vmi.name))
        if isinstance(each, VirtualMachineInstanceMigration)
        and each.phase == "Failed"
        and (each.created or 0.0) >= began
    }
    if last is not None and last.failed and last.ended is not None and last.uid not in found:
        found[last.uid] = FailedMigration(last.ended, last.uid, "", _class_of(last.failure), last.failure, "")
    return tuple(sorted(found.values(), key=lambda each: (each.at or 0.0, each.uid), reverse=True))


def failed_migration(migration: VirtualMachineInstanceMigration, last: Migration | None) -> FailedMigration:
    """Of one that failed; `last` is what the status of its VMI says of that VMI's last one."""
    own = last if last is not None and last.uid == migration.uid else None
    text = migration.failure or (own.failure if own is not None else "")
    at = migration.phase_since or (own.ended if own is not None else None) or migration.created
    return FailedMigration(at, migration.uid, migration.name, _class_of(text), text, migration.made_for)


def _class_of(text: str) -> str:
    found = classified(text)
    return found.id if found is not None else OTHER
