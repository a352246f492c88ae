"""What is read for an answer takes as many rounds as the question needs, however many objects it walks over."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import pytest

from exporter.store.kinds.namespace import Namespace
from reconcile.carry_out.confirm import Confirmed, look_again
from reconcile.carry_out.fresh_reads import settled
from reconcile.fresh import FreshCluster, Need
from reconcile.plan.plan import Patch, Plan, Refused
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations, all_undos
from reconcile.plan.undo import Undo

from ....all_of import all_of
from ....case_files import read_yaml
from ....confirming import MemoryReads, confirmed, hint_of
from ....evaluation import NOW
from ....remediation_cases import CASES, cases_of, made
from ....rows import full
from ....undoing import undoing

SIZES = (1, 12, 13, 50, 200)
ROUNDS = 8  # the most that are needed are 6
READS = 150  # and as many more as there are objects that only show by themselves whether they matter
REMEDIATIONS = {each.id: each for each in all_remediations()}
UNDOS = {each.id: each for each in all_undos().values() if isinstance(each, Undo)}
_ALL: list[Remediation | Undo] = [*REMEDIATIONS.values(), *UNDOS.values()]
LOOKING = {each.looks_again: each for each in _ALL if each.looks_again is not None}
Obj = dict[str, Any]


class Took(NamedTuple):
    rounds: int
    reads: int


def took(answer: Callable[[MemoryReads], Any], reads: MemoryReads) -> tuple[Any, Took]:
    """The answer, and what it took."""
    rounds: list[list[Need]] = []
    take = FreshCluster.take_needs

    def taken(cluster: FreshCluster) -> list[Need]:
        rounds.append(take(cluster))
        return rounds[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FreshCluster, "take_needs", taken)
        found = answer(reads)
    return found, Took(sum(map(bool, rounds)), len(reads.asked))


def crowd(objects: list[Obj], size: int) -> list[Obj]:
    """So many of each, by turns with other names beside it, in another namespace, and there in another network."""
    names = {re.escape(each["metadata"]["name"]) for each in objects if each["kind"] != "Namespace"}
    named = re.compile(rf"(?<![\w-])({'|'.join(sorted(names, key=len, reverse=True))})(?![\w-])")
    texts = [json.dumps(each) for each in objects]
    return [*(_copy(each, number, named) for number in range(1, size) for each in texts), *objects]


def _copy(text: str, number: int, named: re.Pattern[str]) -> Obj:
    way, name = number % 3, json.loads(text)["metadata"]["name"]
    if way == 0:
        text = named.sub(rf"\g<0>-{number}", text)
    elif way == 1:
        text = re.sub(r"tenant\w+", rf"\g<0>{number}", text)
    found: Obj = json.loads(text)
    meta = found["metadata"]
    meta["uid"] = f"{meta.get('uid')}-{number}"
    if way and meta.get("namespace"):
        meta["namespace"] += f"-{number}"
    elif way or meta["name"] == name:
        meta["name"] += f"-{number}"
    return found


def planned(remediation: Remediation, case: dict[str, Any], size: int) -> Took:
    objects = [full(row) for row in case["given"]]
    hint = hint_of(case["about"], objects)
    reads = MemoryReads(crowd(objects, size), case.get("fails"), case.get("absent", ()))
    return took(lambda reads: confirmed(remediation, hint, reads, NOW + case.get("later", 0)), reads)[1]


def bounded(spent: Took, size: int) -> None:
    assert spent.rounds <= ROUNDS, spent
    assert spent.reads <= READS + 2 * size, spent  # all is read twice before a write


def _largest(remediation: Remediation) -> dict[str, Any]:
    cases = cases_of(remediation).values()
    return max((each for each in cases if "refuses" not in each), key=lambda each: len(each["given"]))


@all_of([pytest.param(each, id=each.id) for each in REMEDIATIONS.values()], part=lambda _: "all")
def test_a_plan_takes_no_more_rounds_in_a_crowd(remediation: Remediation) -> None:
    bounded(planned(remediation, _largest(remediation), 200), 200)


_CASES = [(each, name, case) for each in REMEDIATIONS.values() for name, case in cases_of(each).items()]


@pytest.mark.long
@all_of([pytest.param(each, case, id=f"{each.id}-{name}") for each, name, case in _CASES])
def test_no_case_takes_more_rounds_in_a_crowd(remediation: Remediation, case: dict[str, Any]) -> None:
    bounded(planned(remediation, case, 40), 40)


def _undone() -> Iterator[Any]:
    for undo in UNDOS.values():
        cases = read_yaml((CASES / f"{undo.id}.yaml").read_text(encoding="utf-8")).get("_undo", {})
        for name, case in cases.items():
            yield pytest.param(undo, case, id=f"{undo.id}-{name}")


@pytest.mark.long
@all_of(_undone())
def test_no_undo_takes_more_rounds_in_a_crowd(undo: Undo, case: dict[str, Any]) -> None:
    remediation = REMEDIATIONS[undo.id]
    found = undoing(remediation, cases_of(remediation)[case["of"]], case)
    found.reads.objects = crowd(found.objects, 40)
    bounded(took(lambda _: found.made(*case.get("accept", ())), found.reads)[1], 40)


CLAIM = {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "ips": ["10.0.0.5/24"]}
NAD = {"kind": "NetworkAttachmentDefinition", "name": "blue", "network": "tenantblue"}
BAD = {"kind": "NetworkAttachmentDefinition", "config": '{"name": "others", '}
UNREAD = {"k8s.ovn.org/pod-networks": "{"}


def _overlapping(number: int) -> list[Obj]:
    """A network of its own with the same subnet, and a pod that has the address there."""
    space = f"tenant-{number}"
    return [
        {**NAD, "namespace": space, "name": "red", "network": f"red{number}"},
        {"kind": "Pod", "namespace": space, "name": "web", "addresses": {f"{space}/red": ["10.0.0.5/24"]}},
    ]


def _in_one_namespace(number: int) -> list[Obj]:
    red = f"red{number}"
    return [
        {**NAD, "namespace": "other", "name": red, "network": red},
        {"kind": "Pod", "namespace": "other", "name": red, "addresses": {f"other/{red}": ["10.0.0.5/24"]}},
    ]


def _unreadable(number: int) -> list[Obj]:
    attached = {"attached": [[f"other/bad{number}", ""]], "annotations": UNREAD}
    return [
        {**BAD, "namespace": "other", "name": f"bad{number}"},
        {"kind": "Pod", "namespace": "other", "name": f"web{number}", **attached},
    ]


def _unreadable_elsewhere(number: int) -> list[Obj]:
    space = f"tenant-{number}"
    attached = {"attached": [[f"{space}/bad", ""]], "annotations": UNREAD}
    return [{**BAD, "namespace": space, "name": "bad"}, {"kind": "Pod", "namespace": space, "name": "web", **attached}]


def _undecodable_claims(number: int) -> list[Obj]:
    return [{**CLAIM, "namespace": f"tenant-{number}", "network": "red", "undecodable": True}]


def _claims(number: int) -> list[Obj]:
    return [{**CLAIM, "namespace": f"tenant-{number}", "network": f"red{number}"}]


def _vms(number: int) -> list[Obj]:
    space = f"tenant-{number}"
    return [
        {"kind": "VirtualMachine", "namespace": space, "name": "db", "uid": f"u-{number}"},
        {"kind": "VirtualMachineInstance", "namespace": space, "name": "db", "vm": f"u-{number}"},
        {"kind": "Pod", "namespace": space, "name": "virt-launcher-db-x", "domain": "db"},
        {"kind": "VirtualMachine", "name": f"web{number}"},
        {"kind": "VirtualMachineInstanceMigration", "name": f"web{number}", "vmi": f"web{number}"},
    ]


CROWDS = (_overlapping, _in_one_namespace, _unreadable, _unreadable_elsewhere, _undecodable_claims, _claims, _vms)
RELEASES = (
    ("delete_orphan_ipam_claim", "OrphanClaim", False),
    ("release_ipam_claim", "StuckTerminatingOwnerGone", True),
)


def _walked(of: Callable[[int], list[Obj]], size: int) -> list[Obj]:
    return [full(row) for number in range(size) for row in of(number)]


@all_of(
    [pytest.param(of, size, id=f"{of.__name__[1:]}-{size}") for of in CROWDS for size in SIZES], part=lambda _: "all"
)
def test_an_address_is_released_among_however_many_of_others(of: Callable[[int], list[Obj]], size: int) -> None:
    for name, reason, deleting in RELEASES:
        objects = [full({**CLAIM, "deleting": deleting}), full({"kind": "Namespace", "name": "ns"}), full(NAD)]
        objects += _walked(of, size)
        about = {"check": "ipam_claims", "reason": reason, "kind": "IPAMClaim", "subject": "db.blue"}
        hint = hint_of(about, objects)
        found, spent = took(lambda reads: confirmed(REMEDIATIONS[name], hint, reads), MemoryReads(objects))  # noqa: B023
        assert isinstance(found, Confirmed), found
        bounded(spent, size)


def _released(about: Remediation | Undo) -> tuple[Plan, Obj]:
    """The plan of a case that releases an address, and the object as it was."""
    plans = [each for _, each in made(REMEDIATIONS[about.id]) if isinstance(each.plan.step, Patch)]
    of = next(each for each in plans if each.plan.target.kind == "IPAMClaim")
    before = deepcopy(dict(of.whole))
    before["status"] = {"ips": ["10.0.0.5/24"]}
    return of.plan, before


@all_of(
    [
        pytest.param(about, of, size, id=f"{type(about).__name__}-{about.id}-{of.__name__[1:]}-{size}")
        for about in LOOKING.values()
        for of in CROWDS
        for size in SIZES
    ]
)
def test_a_second_look_ends_among_however_many_of_others(
    about: Remediation | Undo, of: Callable[[int], list[Obj]], size: int
) -> None:
    plan, before = _released(about)
    objects = [full(NAD), *_walked(of, size)]
    seen, spent = took(lambda reads: asyncio.run(look_again(about, plan, before, reads, NOW)), MemoryReads(objects))
    assert seen == ""
    bounded(spent, size)


@all_of([pytest.param(each, id=each.id) for each in LOOKING.values()], part=lambda _: "all")
def test_a_second_look_sees_who_came_among_two_hundred_others(about: Remediation | Undo) -> None:
    plan, before = _released(about)
    came = {"kind": "Pod", "namespace": plan.target.namespace, "name": "came", "claims": [plan.target.name]}
    objects = [full(NAD), full(came), *_walked(_overlapping, 200)]
    seen = asyncio.run(look_again(about, plan, before, MemoryReads(objects), NOW))
    assert "Pod ns/came refers to it" in str(seen), seen


async def test_what_is_asked_for_after_it_was_read_ends_in_a_sentence() -> None:
    """A Namespace is the namespace that it is in: by another one it is never found."""

    def ask(cluster: FreshCluster) -> bool:
        return cluster.whole(Namespace.KIND, "", "ns") is not None

    remediation = REMEDIATIONS["cancel_stale_evacuation"]
    found = await settled(ask, (remediation,), MemoryReads([full({"kind": "Namespace", "name": "ns"})]))
    assert isinstance(found, Refused)
    assert found.precondition == "everything_seen"
    assert "Namespace" in found.why
    assert found.why.endswith("is asked for after it was read")
