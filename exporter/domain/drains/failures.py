"""What a migration failed of, by what KubeVirt and libvirt say of it, and whether the next attempt can go otherwise.

The texts are those of virt-launcher (pkg/virt-launcher/virtwrap/live-migration-source.go of kubevirt/kubevirt), of
libvirt's and QEMU's errors in it, and of virt-controller (pkg/virt-controller/watch/migration/migration.go).
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CLASSES", "FailureClass", "classified"]


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
