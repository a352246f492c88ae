"""Repairs among all that acts on the same objects: many drawn interleavings, all of the known races, and mutants."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reconcile.ledger import Ledger

from ....interleaving.mutants import sought
from ....interleaving.races import RACES, Race, raced
from ....interleaving.running import interleave
from ....interleaving.weakening import applied, mutants

pytestmark = pytest.mark.long

COUNT = 1400 if os.environ.get("FUZZ") == "all" else 700
OF_A_RACE = 40  # interleavings; `python -m tests.interleaving --races` has them all
WITH_FILES = 45
KNOWN = {each.name: each for each in mutants()}


@pytest.mark.parametrize("portion", range(4))
def test_nothing_live_is_harmed(portion: int) -> None:
    writes = 0
    for number in range(portion, COUNT, 4):
        ran = interleave(f"1/{number}")
        assert not ran.violations, ran
        writes += ran.writes
    assert writes > COUNT // 100


@pytest.mark.parametrize("race", RACES, ids=lambda race: race.name)
def test_races_that_others_lost(race: Race) -> None:
    ran = {name: violations for name, violations in raced(race, most=OF_A_RACE) if violations}
    assert ran == {}


def test_with_the_ledger_on_a_disk(tmp_path: Path) -> None:
    writes = 0
    for number in range(WITH_FILES):
        ledgers: list[Ledger] = []

        def opened(
            name: str, clock: Callable[[], float], number: int = number, ledgers: list[Ledger] = ledgers
        ) -> Ledger:
            ledgers.append(Ledger.open(tmp_path / f"{number}-{name}", clock=clock))
            return ledgers[-1]

        ran = interleave(f"3/{number}", ledger=opened)
        writes += ran.writes
        assert not ran.violations, ran
        assert ran == interleave(f"3/{number}")
        for ledger in ledgers:
            assert ledger.verify() == []
            ledger.close()
    assert writes


@pytest.mark.parametrize(
    ("name", "invariant"),
    [
        ("that any VirtualMachine is seen", "nobody of its name lives"),
        ("that any Pod is seen", "address in use"),
        ("that any VirtualMachineInstanceMigration is seen", "nothing moves"),
        ("release_ipam_claim: no_other_owner", "owner is known"),
        ("_ipam_claims: no_pod_uses_it", "address in use"),
        ("_ipam_claims: no_other_holder", "address in use"),
        ("_releasing: new_address_allowed", "its owner allows it"),
        ("reassign_firmware_uuid: keeper_known", "the one entitled keeps it"),
        ("persist_firmware_uuid: not_edited_since_start (3, in _edited)", "what is meant stays"),
        ("that any VirtualMachineClone is seen", "nothing is restored"),
        ("that it is unclear while it may arrive", "ledger true"),
        ("that a copy is what runs", "no content of a stranger"),
        ("that shadow writes nothing", "shadow writes nothing"),
        ("that what was shadowed is not written", "gates are fresh after shadow"),
        ("drop_stale_reference: needed_by_none", "a matcher may come back"),
        ("drop_stale_reference: unchanged_for_an_hour", "a matcher may come back"),
        ("nudge_unversioned_vm: starts_safely", "controllers stay up"),
        ("recreate_ipam_claim: controller_can", "it is of use"),
        ("_nudging: not_tried", "once is enough"),
        ("undo of reassign_firmware_uuid: uuid_is_free", "undone: its own"),
        ("undo of restash_missing_revision: not_needed", "undone: what is needed stays"),
    ],
)
def test_a_lost_safeguard_is_noticed(name: str, invariant: str) -> None:
    # Of a thousand that are drawn few come to it, by chance none.
    drawn = (sought(KNOWN[name], most=1000, seed=seed, invariant=invariant) for seed in (1, 2, 3))
    assert any(invariant in found.invariants for found in drawn)


@pytest.mark.parametrize(
    ("name", "race", "most"),
    [
        ("that VMs are read once more", "namesake in a large cluster", 100),
        ("_releasing: vm_stopped (2, in awake)", "start that is slow", 200),
        ("that both plans are the same", "another plan", 0),
        ("the test of the resourceVersion", "owners before claims, released", 0),
        ("that it is looked again after a release", "namesake of a late release", 200),
        ("_releasing: no_user (1, in _used)", "taken back under a VMI", 200),
        ("undo of repair_ipam_claim_metadata: address_kept", "taken back under a VM", 200),
    ],
)
def test_a_race_is_lost_without_its_safeguard(name: str, race: str, most: int) -> None:
    mutant = KNOWN[name]
    with applied(mutant):
        ran = raced(next(each for each in RACES if each.name == race), mutant.weakened, most=most)
        assert any(violations for _, violations in ran)
