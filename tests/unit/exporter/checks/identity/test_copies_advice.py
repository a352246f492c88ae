"""What findings on restores and on what was copied keep a reader from: to lose a guest's state, or later data."""

from __future__ import annotations

from exporter.domain.acts import Act
from exporter.findings.finding import Finding
from tests.check_cases import CHECKS, outcome


def found(check: str, case: str, namespace: str, name: str) -> Finding:
    (of,) = (each for each in CHECKS if each.id == check)
    (one,) = (
        each
        for each in outcome(of, case).findings
        if (each.subject.namespace, each.subject.name) == (namespace, name) and each.reason != "LegacyDerived"
    )
    return one


def test_a_restore_anew_patches_what_its_vm_would_share() -> None:
    delete, anew = found("copies_ahead", "restore_under_a_new_name", "ns", "r1").commands

    assert delete.startswith("kubectl delete ")
    assert "/firmware/uuid" in anew
    assert "/firmware/serial" in anew


def test_a_restore_anew_keeps_the_uuid_of_a_persistent_tpm() -> None:
    one = found("copies_ahead", "restore_that_keeps_the_uuid_of_one_with_a_persistent_tpm", "ns", "r1")

    assert len(one.commands) == 1


def test_a_restore_with_patches_of_its_own_is_not_made_anew_without_them() -> None:
    one = found("copies_ahead", "patches_leave_the_address", "ns", "r1")

    assert len(one.commands) == 1


def test_a_vm_is_not_stopped_while_a_restore_waits_for_its_stop() -> None:
    free = found("vm_snapshots", "vm_still_runs", "ns", "r1").forbids
    locked = found("vm_snapshots", "vm_still_runs_and_is_locked", "ns", "r1").forbids

    assert free is not None
    assert set(free.acts) == {Act.STOP, Act.RESTART, Act.END}
    assert locked is not None
    assert set(locked.acts) == {Act.START, Act.STOP, Act.RESTART, Act.END}


def test_a_vm_that_was_migrated_away_is_not_started() -> None:
    case = "guest_has_arrived_and_the_source_is_halted"
    left = found("firmware_duplicates", case, "a", "db").forbids
    arrived = found("firmware_duplicates", case, "b", "db").forbids

    assert left is not None
    assert left.acts == (Act.START,)
    assert arrived is None
