"""The fleet of the bench is what its figures are said to be of: healthy but for the seeded faults, and of that size."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from bench.fleet.changes import CHANGES, CLAIM
from bench.fleet.population import Fleet
from demo.apiserver.resources import Obj
from exporter.checks import all_checks
from tests.amounts import drawn, part
from tests.evaluation import NOW, Evaluation

WHEN = datetime.fromtimestamp(NOW, UTC)
NUMBERS = sorted({*part(range(510), 5), 7, 506, 507})
"""Of VMs, among them those that something is wrong with."""
OF_A_VM = ("VirtualMachine", "VirtualMachineInstance", "Pod", "IPAMClaim")


def some(fleet: Fleet) -> list[Obj]:
    return [*fleet.around(), *fleet.vms_of(NUMBERS)]


def evaluated(objects: list[Obj]) -> Evaluation:
    made = Evaluation(all_checks())
    for obj in objects:
        if obj["kind"] in made.kinds:
            made.seen(obj)
    return made


@drawn
def test_nothing_is_wrong_but_what_is_seeded() -> None:
    found = evaluated(some(Fleet(510, WHEN, revisions=True))).found()
    reasons = {(name, reason) for _, name, reason, _ in found}
    assert reasons == {("vm-7.blue", "UnlabelledClaim"), ("vm-506", "Duplicate"), ("vm-507", "Duplicate")}


def test_a_vm_has_about_25_kb_and_with_revisions_three_more_objects() -> None:
    plain, whole = Fleet(100, WHEN), Fleet(100, WHEN, revisions=True)
    sizes = [len(json.dumps(obj, separators=(",", ":"))) for obj in plain.objects() if obj["kind"] in OF_A_VM]
    assert len(sizes) == 4 * 100
    assert 22_000 < sum(sizes) / 100 < 27_000
    assert sum(1 for obj in whole.objects() if obj["kind"] == "ControllerRevision") == 3 * 100


@drawn
def test_vms_that_are_all_unlike_have_no_two_of_a_size_and_nothing_else_wrong() -> None:
    objects = some(Fleet(510, WHEN, unlike=True))
    pods = [obj["spec"]["containers"][0]["resources"]["requests"] for obj in objects if obj["kind"] == "Pod"]
    vms = [obj["spec"]["template"]["spec"] for obj in objects if obj["kind"] == "VirtualMachine"]
    vmis = [obj["spec"] for obj in objects if obj["kind"] == "VirtualMachineInstance"]
    assert len({each["memory"] for each in pods}) == len(NUMBERS)
    sizes = [each["domain"]["memory"]["guest"] for each in vms]
    assert len(set(sizes)) == len(NUMBERS)
    assert sizes == [each["domain"]["memory"]["guest"] for each in vmis]
    assert {reason for *_, reason, _ in evaluated(objects).found()} == {"UnlabelledClaim", "Duplicate"}


def test_every_object_says_who_wrote_it() -> None:
    for obj in Fleet(3, WHEN).objects():
        writers = obj["metadata"]["managedFields"]
        assert writers[0]["fieldsV1"], obj["kind"]
        assert ("status" in obj) == (writers[-1].get("subresource") == "status")


def test_a_change_goes_there_and_back_and_that_of_a_claim_opens_and_closes_a_finding() -> None:
    objects = list(Fleet(20, WHEN).objects())
    healthy = evaluated(objects)
    before = healthy.found()
    for name, change in CHANGES.items():
        of = next(obj for obj in objects if obj["kind"] == change.kind)
        there = change.changed(of, True)
        assert there != of
        assert change.changed(there, False) == change.changed(of, False)
        healthy.seen({**there, "metadata": {**there["metadata"], "resourceVersion": "2"}})
        if name == CLAIM:
            assert ("tenant-0", of["metadata"]["name"], "UnlabelledClaim", "warning") in healthy.found()
        healthy.seen({**of, "metadata": {**of["metadata"], "resourceVersion": "3"}})
    assert healthy.found() == before
