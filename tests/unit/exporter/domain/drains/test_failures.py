"""What a migration failed of, by the texts that KubeVirt, libvirt and QEMU write."""

from __future__ import annotations

import pytest

from exporter.domain.drains.failures import classified

LIBVIRT = (
    "Live migration failed error encountered during MigrateToURI3 libvirt api call: virError(Code={}, Domain=10,"
    " Message='{}')"
)
FAILURES = {
    LIBVIRT.format(9, "operation failed: guest CPU doesn't match specification: extra features: vmx-ept"): "CPU",
    LIBVIRT.format(9, "operation failed: guest CPU doesn't match specification: missing features: pdcm"): "CPU",
    LIBVIRT.format(1, "internal error: Attempt to migrate guest to the same host 4c4c4544"): "SameHost",
    LIBVIRT.format(
        1, "qemu unexpectedly closed the monitor: qemu-kvm: Features 0x1c unsupported. Allowed features: 0x1"
    ): ("DeviceState"),
    LIBVIRT.format(1, "closed the monitor: load of migration failed: Input/output error"): "DeviceState",
    LIBVIRT.format(1, "unable to execute QEMU command 'cont': Failed to get \"write\" lock"): "Disk",
    LIBVIRT.format(38, "cannot set up guest memory 'pc.ram': Cannot allocate memory"): "Memory",
    LIBVIRT.format(38, "unable to connect to server at '10.0.0.9:49152': Connection refused"): "Connection",
    "virError(Code=1, Domain=7, Message='internal error: client socket is closed')": "Connection",
    "Live migration stuck for 150 seconds and has been aborted": "Timeout",
    "Live migration is not completed after 300 seconds and has been aborted": "Timeout",
    "Live migration aborted by the user": "Aborted",
}


@pytest.mark.parametrize(("failure", "of"), FAILURES.items(), ids=str)
def test_what_it_failed_of(failure: str, of: str) -> None:
    found = classified(failure)
    assert found is not None
    assert found.id == of


def test_what_only_a_restart_ends() -> None:
    lasting = {"SameHost", "CPU", "DeviceState"}
    assert {of for text, of in FAILURES.items() if (found := classified(text)) and found.lasting} == lasting


@pytest.mark.parametrize("failure", ["", "something else", "operation failed"])
def test_what_is_not_known(failure: str) -> None:
    assert classified(failure) is None
