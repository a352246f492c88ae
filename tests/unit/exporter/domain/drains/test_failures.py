"""What a migration failed of, by the texts that KubeVirt, libvirt and QEMU write."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from exporter.domain.drains.failures import classified, failures_shown
from exporter.store.indexes.drains import PART
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from tests.evaluation import Evaluation
from tests.failed_migrations import failed, minute, status_of, vmi

LIBVIRT = (
    "Live migration failed error encountered during MigrateToURI3 libvirt api call: virError(Code={}, Domain=10,"
    " Message='{}')"
)
CPU = "operation failed: guest CPU doesn't match specification: extra features: vmx-ept"
DISK = "unable to execute QEMU command 'cont': Failed to get \"write\" lock"
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
    "Live migration aborted because implied downtime 2310ms exceeds maxDowntime budget": "Timeout",
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


def shown(*objects: dict[str, Any]) -> list[tuple[str, str, float | None]]:
    """Names, classes and times, of the VMI `db`."""
    evaluation = Evaluation([], indexes=[PART])
    for each in objects:
        evaluation.seen(each)
    cluster = evaluation.engine.cluster
    vmi = cluster.get(VirtualMachineInstance, "ns", "db")
    assert vmi is not None
    return [(each.migration, each.failure, each.at) for each in failures_shown(cluster, vmi)]


def at(minutes: int) -> float:
    return datetime.fromisoformat(minute(minutes)).timestamp()


def test_what_the_objects_show_newest_first() -> None:
    assert shown(vmi(), failed("m1", 1, CPU), failed("m3", 3), failed("of", 2, vmi="other")) == [
        ("m3", "Other", at(3)),
        ("m1", "CPU", at(1)),
    ]
    assert shown(vmi()) == []


def test_the_status_of_the_vmi_adds_a_text_or_a_failure() -> None:
    state = status_of("m1", 1, DISK)
    assert shown(vmi(migration=state), failed("m1", 2)) == [("m1", "Disk", at(2))]
    assert shown(vmi(migration=state), failed("m1", 2, phase="Running")) == [("m1", "Disk", at(1))]
    assert shown(vmi(migration=state), failed("m2", 2)) == [("m2", "Other", at(2)), ("", "Disk", at(1))]
    assert shown(vmi(migration=state), failed("m1", 2, phase="Succeeded")) == []
    assert shown(vmi(migration=state | {"endTimestamp": None})) == []
    assert shown(vmi(migration=state | {"failed": False})) == []


def test_what_is_older_than_the_vmi_is_not_shown() -> None:
    assert shown(vmi(created=minute(5)), failed("m4", 4), failed("m5", 5)) == [("m5", "Other", at(5))]


def test_of_one_whose_time_is_not_known_it_is_that_of_the_status_or_of_its_creation() -> None:
    assert shown(vmi(), failed("m1", 1, phaseSince=None)) == [("m1", "Other", at(1))]
    assert shown(vmi(migration=status_of("m1", 3)), failed("m1", 1, phaseSince=None)) == [("m1", "Other", at(3))]
