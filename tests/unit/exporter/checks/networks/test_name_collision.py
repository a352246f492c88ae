"""Two VMs whose IPAMClaims have one name: each is evaluated again when the other's NAD changes."""

from __future__ import annotations

from typing import Any

from exporter.checks import all_checks
from tests.evaluation import Evaluation
from tests.rows import full

BOTH = {("a", "NameCollision"), ("a.b", "NameCollision")}  # interface b_c of VM a, and c of VM a.b: both a.b.c


def nad(name: str, **fields: Any) -> dict[str, Any]:
    return full({"kind": "NetworkAttachmentDefinition", "name": name, "network": f"tenant{name}", **fields})


def two_vms(*nads: dict[str, Any]) -> Evaluation:
    evaluation = Evaluation([each for each in all_checks() if each.id == "ipam_vms"])
    rows: list[dict[str, Any]] = [
        {"kind": "VirtualMachine", "name": "a", "uid": "u1", "networks": {"b_c": "blue"}},
        {"kind": "VirtualMachine", "name": "a.b", "uid": "u2", "networks": {"c": "red"}},
    ]
    for thing in (*map(full, rows), *nads):
        evaluation.seen(thing)
    return evaluation


def colliding(evaluation: Evaluation) -> set[tuple[str, str]]:
    return {(name, reason) for _, name, reason, _ in evaluation.found()}


def test_a_nad_that_no_longer_allows_persistent_ips_ends_it_for_the_other_vm_too() -> None:
    evaluation = two_vms(nad("blue"), nad("red"))
    assert colliding(evaluation) == BOTH

    for name in ("red", "blue"):
        evaluation.seen(nad(name, persistent=False))
        assert colliding(evaluation) == set()
        evaluation.seen(nad(name))
        assert colliding(evaluation) == BOTH


def test_a_nad_that_comes_and_goes_begins_and_ends_it_for_the_other_vm_too() -> None:
    evaluation = two_vms(nad("blue"))
    assert colliding(evaluation) == set()

    evaluation.seen(nad("red"))
    assert colliding(evaluation) == BOTH
    evaluation.gone("NetworkAttachmentDefinition", "ns", "red")
    assert colliding(evaluation) == set()
