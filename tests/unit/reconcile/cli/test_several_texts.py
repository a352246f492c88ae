"""What is said beside several plans, and of what repairs left."""

from __future__ import annotations

from collections import Counter

import pytest

from exporter.facts.record import Ref
from exporter.store.kinds import virtual_machine
from reconcile.cli.commands.clean import Leftover
from reconcile.cli.several import Listed


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        (Listed(), ""),
        (Listed(left=1200), "1,200 not planned (--limit)"),
        (Listed(refused=Counter(vm_gone=2, no_user=1)), "3 refused (1 no_user, 2 vm_gone)"),
        (
            Listed(proposed=1, same=2, skipped=3),
            "1 for another owner to write; 2 for an object with a plan above; 3 approved already",
        ),
    ],
)
def test_what_is_not_among_the_plans_is_counted_with_a_command_that_shows_it(listed: Listed, told: str) -> None:
    said = listed.others("--remediation r -n shop")
    assert said == (told and f"Not included: {told}. To list them: steward reconcile plan --remediation r -n shop")


@pytest.mark.parametrize(
    ("paths", "guarded", "said"),
    [
        (["/metadata/annotations/a.b~1c"], False, "annotation a.b/c"),
        (["/metadata/annotations/a.b~1c", "/metadata/annotations/d~01"], False, "annotations a.b/c, d~1"),
        (["/metadata/annotations/a", "/metadata/labels/b"], True, "annotation a; label b; its guard"),
        ([], True, "its guard"),
    ],
)
def test_what_is_left_on_an_object_is_named_by_its_keys(paths: list[str], guarded: bool, said: str) -> None:
    left = Leftover(virtual_machine.KIND, Ref("VirtualMachine", "shop", "db", "u1"), {}, paths, guarded)
    assert str(left) == f"VirtualMachine shop/db: {said}"
