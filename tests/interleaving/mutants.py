"""Whether the interleavings notice that the product lacks one of its safeguards.

`python -m tests.interleaving.mutants --most 3000 --seed 1 [part of a name]` prints a table. A mutant that is not found
alone is tried together with what covers it (`covering.COVERED`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from .invariants import Violation
from .races import RACES, raced
from .running import interleave
from .weakening import Mutant, applied, mutants, together

__all__ = ["COVERED", "Found", "sought"]

# Which safeguards are not needed alone here, and why: another one covers them, or nothing is written without them.


@dataclass(frozen=True)
class Covered:
    """What begins with `of` is not needed alone: `why`, and `by` which mutants; without both an invariant is broken."""

    of: str
    why: str
    by: tuple[str, ...] = ()
    invariant: str = ""


_VERSION, _CHECK = ("the test of the resourceVersion",), ("that the check is asked",)
_GRACE, _HAD_TIME = ("that its grace is over",), ("_releasing: controller_had_time",)
_NO_PLAN = "nothing is planned without it"
COVERED = (
    Covered("the test of the UID", "an object made anew has another resourceVersion", _VERSION, "same object"),
    Covered("the tests of the content", "what changes it changes the resourceVersion", _VERSION, "content"),
    Covered(
        "the second plan",
        "what was read for the first is too old",
        ("that what was read is young",),
        "nobody of its name lives",
    ),
    Covered("that users are read last", "the object is read first: its resourceVersion is older", _VERSION),
    Covered("that any IPAMClaim is seen", _NO_PLAN),
    Covered("that IPAMClaim is read afresh", "its resourceVersion is old then", _VERSION),
    Covered("that any NetworkAttachmentDefinition is seen", "an address of an unknown network refuses"),
    Covered("that NetworkAttachmentDefinition is read afresh", "here no NAD changes"),
    Covered("that any MutatingWebhookConfiguration is seen", "one that is not seen is missing, which refuses"),
    Covered("that MutatingWebhookConfiguration is read afresh", "here it does not change"),
    Covered("release_ipam_claim: same_object", _NO_PLAN),
    Covered("_releasing: finding_holds", _NO_PLAN),
    Covered("that its grace is over", "release_ipam_claim asks for the same", _HAD_TIME, "controllers come first"),
    Covered("_releasing: controller_had_time", "its grace is as long", _GRACE, "controllers come first"),
    Covered("release_ipam_claim: vm_gone", "the check sees the VM", _CHECK, "nobody of its name lives"),
    Covered("release_ipam_claim: vmi_gone", "the check sees the VMI", _CHECK, "nobody of its name lives"),
    Covered("delete_orphan_ipam_claim: same_object", _NO_PLAN),
    Covered("delete_orphan_ipam_claim: not_being_deleted", "deleting it again changes nothing"),
    Covered("delete_orphan_ipam_claim: vm_gone", "the check sees the VM", _CHECK, "nobody of its name lives"),
    Covered("repair_ipam_claim_metadata: same_object", _NO_PLAN),
    Covered("repair_ipam_claim_metadata: finding_holds", "a patch without operations changes nothing"),
    Covered("repair_ipam_claim_metadata: not_being_deleted", "the API server takes no finalizer then", _CHECK),
    Covered("repair_ipam_claim_metadata: created_by_kubevirt", "the check reports another reason"),
    Covered("repair_ipam_claim_metadata: owner_lives", _NO_PLAN),
    Covered("repair_ipam_claim_metadata: name_fits_label", "the API server takes no longer label"),
    Covered("adopt_ipam_claim: same_object (1, in _plan)", _NO_PLAN),
    Covered("adopt_ipam_claim: finding_holds", "the check does not report it then", _CHECK),
    Covered("adopt_ipam_claim: vm_stopped", _NO_PLAN),
    Covered("reclaim_ipam_claim: same_object", _NO_PLAN),
    Covered("reclaim_ipam_claim: vm_owns_it (2, in _owner)", "the check reports another reason", _CHECK),
    Covered("reclaim_ipam_claim: vm_owns_it (3, in _owner)", "the check reports another reason", _CHECK),
    Covered("recreate_ipam_claim: same_object", _NO_PLAN),
    Covered("_releasing: vm_stopped (3, in awake)", "here VMs are started by their run strategy alone"),
    Covered("_releasing: vm_stopped (4, in awake)", "a VM that runs has a run strategy that refuses first"),
    Covered("adopt_ipam_claim: same_object (2, in _weigh)", _NO_PLAN),
    Covered("undo of adopt_ipam_claim: address_kept", "garbage collection releases it then, and not the write"),
    Covered("_grounds: not_being_deleted", "the check reports nothing of it then", _CHECK, "what ends is left"),
    Covered("_identities: has_domain", "the API server adds nothing below what is not there"),
    Covered("persist_firmware_uuid: same_object", _NO_PLAN),
    Covered("_identities: is_a_vm", _NO_PLAN),
    Covered("_identities: same_object", _NO_PLAN),
    Covered(
        "that no earlier write may still arrive",
        "one that arrives meets another resourceVersion, or the object that it would create",
        _VERSION,
        "as confirmed",
    ),
    Covered(
        "that nobody changed what is taken back",
        "the write tests what it takes away",
        ("the tests of the content",),
        "undone: others' changes stay",
    ),
    Covered("repair_ipam_claim_metadata: same_object (3, in _weigh)", _NO_PLAN),
    Covered("_taken_back: same_object", _NO_PLAN),
    Covered("reassign_mac_address: one_interface", "here each VM has one interface"),
    Covered("_identities: keeper_known", "who is not known is not surely older", ("_identities: surely_the_copy",)),
    Covered("guard_instancetype: same_object (2, in _weigh)", _NO_PLAN),
    Covered("restash_missing_revision: same_object", _NO_PLAN),
    Covered("restash_missing_revision: finding_holds", _NO_PLAN),
    Covered("delete_orphan_revision: same_object", _NO_PLAN),
    Covered("guard_instancetype: same_object (1, in _plan)", _NO_PLAN),
    Covered("guard_instancetype: unguarded", "the finalizer is there already: to add it again changes nothing"),
    Covered("_instancetypes: one_kubevirt", "here there is one"),
    Covered("restash_missing_revision: not_pinned", "what is dropped from the status is not what the spec names"),
    Covered("persist_firmware_uuid: not_edited_since_start (1, in _edited)", "here managedFields say who wrote it"),
    Covered("persist_firmware_uuid: not_edited_since_start (2, in _edited)", "here every VMI has a time of creation"),
    Covered(
        "that KubeVirt wrote a copy",
        "what runs is compared too",
        ("that a copy is what runs",),
        "no content of a stranger",
    ),
    Covered(
        "that a copy is of who refers to it",
        "what runs is compared too",
        ("that a copy is what runs",),
        "no content of a stranger",
    ),
    Covered("_releasing: no_user (2, in _used)", "it is refused under another name then"),
    Covered("restash_missing_revision: references_kept (2", "another policy than expandAll does not occur here"),
    Covered(
        "restash_missing_revision: copy_proven", "the live object is copied then, which takes nothing from a stranger"
    ),
    Covered("delete_orphan_revision: owned_by_a_vm", "the check does not report what a snapshot owns", _CHECK),
    Covered(
        "guard_instancetype: not_managed",
        "what an operator manages is left to it",
        ("that it is left to its owner",),
        "made by nobody else",
    ),
    Covered("_instancetypes: same_object", _NO_PLAN),
    Covered("_instancetypes: finding_holds", _NO_PLAN),
    Covered("drop_stale_reference: same_object (1, in _plan)", _NO_PLAN),
    Covered(
        "drop_stale_reference: no_matcher (1, in _plan)",
        "the check reports nothing of it then",
        _CHECK,
        "what it has stays",
    ),
    Covered("nudge_unversioned_vm: not_nudged_yet", "the same annotation changes nothing, of which no event comes"),
    Covered("nudge_unversioned_vm: same_object", _NO_PLAN),
    Covered("nudge_unversioned_vm: pins_survive", "here no VM has two roles, of which one is pinned"),
    Covered("nudge_unversioned_vm: name_fits", "here no name is so long"),
    Covered("nudge_unversioned_vm: runs_with_it", "nobody here plugs CPUs or memory into a guest"),
    Covered("drop_stale_reference: same_object (2, in _weigh)", _NO_PLAN),
    Covered("adopt_revision: owner_gone (2", "garbage collection deletes at once what a VM of another namespace owns"),
    Covered("label_pinned_revision: content_says_what", "there is nothing to make the labels of then"),
    Covered("label_pinned_revision: labels_agree", "the write tests the labels that are there"),
    Covered("_instancetypes: no_restore", "whoever a restore makes refer to it is asked for"),
)


@dataclass(frozen=True)
class Found:
    """After how many interleavings a mutant was found, 0 where it was not; by which invariants in that one.

    `writes` is how many it made until then.
    """

    mutant: str
    after: int
    invariants: tuple[str, ...] = ()
    what: str = ""
    writes: int = 0


def sought(mutant: Mutant, most: int, seed: int = 1, invariant: str = "") -> Found:
    """By any invariant, or by a certain one: in all interleavings of its race first, then in drawn ones."""
    count = writes = 0
    with applied(mutant):
        for name, violations in _of_its_race(mutant):
            count += 1
            names = tuple(dict.fromkeys(each.invariant for each in violations))
            if names and (not invariant or invariant in names):
                return Found(mutant.name, count, names, f"{name}: {violations[0].what}", writes)
        for number in range(most):
            ran = interleave(f"{seed}/{number}", mutant.weakened, area=mutant.area)
            count, writes = count + 1, writes + ran.writes
            names = tuple(dict.fromkeys(each.invariant for each in ran.violations))
            if names and (not invariant or invariant in names):
                return Found(mutant.name, count, names, ran.violations[0].what, writes)
    return Found(mutant.name, 0, writes=writes)


def _of_its_race(mutant: Mutant) -> Iterator[tuple[str, tuple[Violation, ...]]]:
    for race in RACES:
        if race.name == mutant.race:
            yield from raced(race, mutant.weakened)


def _row(most: int, seed: int, number: int) -> tuple[str, bool]:
    """The row of a mutant, and whether it is neither found nor explained."""
    known = mutants()
    mutant = known[number]
    found = sought(mutant, most, seed)
    if found.after:
        return f"| {mutant.name} | {found.after} | {', '.join(found.invariants)} |", False
    covered = next((each for each in COVERED if mutant.name.startswith(each.of)), None)
    if covered is None:
        wrote = "" if found.writes else " (it writes nothing)"
        return f"| {mutant.name} | - | **nothing**{wrote} |", True
    if not covered.by:
        return f"| {mutant.name} | - | {covered.why} |", False
    both = together(mutant, *(each for each in known if each.name in covered.by))
    pair = sought(both, most, seed, covered.invariant)
    how = f"{covered.why}; without both after {pair.after or '-'} by {', '.join(pair.invariants)}"
    return f"| {mutant.name} | - | {how} |", not pair.after


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.interleaving.mutants", description=__doc__)
    parser.add_argument("--most", type=int, default=3000, help="drawn interleavings for each mutant")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("part", nargs="?", default="", help="only mutants with this in their name")
    given = parser.parse_args()
    wanted = [number for number, mutant in enumerate(mutants()) if given.part in mutant.name]
    left = 0
    print("| without | found after | by |\n|---|---|---|")
    with get_context("fork").Pool(given.processes) as pool:
        for row, unexplained in pool.imap(partial(_row, given.most, given.seed), wanted):
            left += unexplained
            print(row, flush=True)
    print(f"{left} of {len(wanted)} mutants are neither found nor explained", file=sys.stderr)
    sys.exit(bool(left))


if __name__ == "__main__":
    main()
