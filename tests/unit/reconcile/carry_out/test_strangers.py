"""Whatever a user with permissions in one namespace writes there, no plan for another one becomes a write by it.

Of every case of every remediation: with the objects of the case in a namespace of strangers, with those of a case that
is carried out, and with what looks like a drain, a short network and a twin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import pytest

from reconcile.carry_out.confirm import Confirmed
from reconcile.plan.plan import Refused
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations
from reconcile.plan.remediations.drains import stop_blocked_vmi
from reconcile.plan.remediations.identity import reassign_mac_address
from reconcile.plan.remediations.instancetypes import guard_instancetype
from reconcile.plan.remediations.networks import reclaim_ipam_claim
from reconcile.plan.words import PLATFORM, allowed

from ....all_of import tried
from ....confirming import MemoryReads, confirmed, hint_of
from ....evaluation import NOW
from ....remediation_cases import answered, cases_of, made
from ....rows import full

Object = dict[str, Any]
Case = dict[str, Any]

WRITING = [each for each in all_remediations() if not each.proposes_only]
TENANT = "a-tenant"  # before all others, by its name
SINCE = "2026-09-21T14:00:00Z"  # after every cordon
LONG_AGO = "2020-01-01T00:00:00Z"


def looked(remediation: Remediation, case: Case, objects: Sequence[Object]) -> Confirmed | Refused:
    reads = MemoryReads(objects, case.get("fails"), case.get("absent", ()))
    hint = hint_of(case["about"], [full(row) for row in case["given"]])
    return confirmed(remediation, hint, reads, NOW + case.get("later", 0))


def carried_out(answer: Confirmed | Refused) -> bool:
    return isinstance(answer, Confirmed) and answer.plan.proposal is None


def moved(objects: Iterable[Object], created: str = "") -> Iterator[Object]:
    """As a tenant would write them, with any content; the UID is the API server's, and so is the time of creation: one
    that is there since long may be changed to be like another one.
    """
    yield full({"kind": "Namespace", "name": TENANT})
    for each in objects:
        if not each["metadata"].get("namespace") or each["kind"] in {kind.name for kind in PLATFORM}:
            continue
        copy = deepcopy(each)
        copy["metadata"] |= {"namespace": TENANT, "uid": f"of-{TENANT}-{each['metadata'].get('uid')}"}
        if created and isinstance(each["metadata"].get("creationTimestamp"), str):
            copy["metadata"]["creationTimestamp"] = created
        yield copy


def evidence(rows: Iterable[Object]) -> Iterator[Object]:
    """What a drain leaves on each node, and a network that is used up."""
    for row in list(rows):
        if row["kind"] == "Node":
            yield from drained(row["name"])
        if row["kind"] == "NetworkAttachmentDefinition" and isinstance(row["name"], str):
            network = row.get("network", "tenantblue")
            yield own("NetworkAttachmentDefinition", row["name"], network=network, subnets="10.0.0.0/30")
            key = f"{TENANT}/{row['name']}"
            yield own("Pod", f"full-{row['name']}", addresses={key: [f"10.0.0.{last}/30" for last in (1, 2, 3)]})


def drained(node: str) -> Iterator[Object]:
    yield own("Pod", f"evicted-{node}", node=node, deleting=True, evicted=SINCE)
    asked = {"strategy": "LiveMigrate", "migratable": True, "evacuation": node, "evacuation_since": SINCE}
    yield own("VirtualMachineInstance", f"asked-{node}", node=node, **asked)
    yield own("VirtualMachineInstanceMigration", f"move-{node}", vmi=f"asked-{node}", phase="Running")


def own(kind: str, name: str, **row: Any) -> Object:
    return full({"kind": kind, "namespace": TENANT, "name": name, **row})


def rivals(remediation: Remediation) -> list[list[Object]]:
    """The objects of the cases that are carried out: where their owners' word counts, they bring one about."""
    cases = cases_of(remediation)
    return [[full(row) for row in cases[name]["given"]] for name, _ in made(remediation)]


@pytest.mark.parametrize("remediation", WRITING, ids=lambda each: each.id)
def test_no_plan_becomes_a_write_by_what_a_tenant_writes_elsewhere(remediation: Remediation) -> None:
    others = rivals(remediation)
    with tried() as each:
        for at, (name, case) in enumerate(cases_of(remediation).items()):
            if carried_out(answered(remediation, case)):
                continue
            objects = [full(row) for row in case["given"]]
            like_it = [*moved(objects, LONG_AGO if at % 2 else SINCE), *evidence(case["given"])]
            like_another = moved(others[at % len(others)], LONG_AGO if at % 3 else SINCE)
            for more in (like_it, like_another):
                with each(name):
                    answer = looked(remediation, case, [*objects, *more])
                    consented = isinstance(answer, Confirmed) and allowed(remediation, answer.whole)
                    assert consented or not carried_out(answer), answer


@pytest.mark.parametrize("remediation", WRITING, ids=lambda each: each.id)
def test_no_write_rests_on_what_a_tenant_of_another_namespace_wrote(remediation: Remediation) -> None:
    platform = {kind.name for kind in PLATFORM}
    with tried() as each:
        for name, found in made(remediation):
            case = cases_of(remediation)[name]
            objects = [full(row) for row in case["given"]]
            within = (None, "", "default", found.plan.bound_to.namespace)
            left = [one for one in objects if one["metadata"].get("namespace") in within or one["kind"] in platform]
            if len(left) == len(objects) or allowed(remediation, found.whole):
                continue
            with each(name):
                answer = looked(remediation, case, left)
                assert isinstance(answer, Confirmed), answer
                assert (answer.plan.proposal, answer.plan.hash) == (None, found.plan.hash)


def case(remediation: Remediation, name: str, *rows: Object) -> Confirmed | Refused:
    """The answer to a case with these rows put in place of its own, or added."""
    found = cases_of(remediation)[name]
    keys = [(row["kind"], row.get("namespace"), row["name"]) for row in rows]
    given = [row for row in found["given"] if (row["kind"], row.get("namespace"), row["name"]) not in keys]
    return looked(remediation, {**found, "given": [*given, *rows]}, [full(row) for row in (*given, *rows)])


def test_a_network_that_a_tenant_makes_short_costs_nobody_else_an_address() -> None:
    remediation = reclaim_ipam_claim.REMEDIATION
    tiny = {"kind": "NetworkAttachmentDefinition", "namespace": TENANT, "name": "blue", "subnets": "10.0.0.0/29"}
    full_up = {f"{TENANT}/blue": [f"10.0.0.{last}/29" for last in range(1, 5)]}
    pod = {"kind": "Pod", "namespace": TENANT, "name": "greedy", "addresses": full_up}

    answer = case(remediation, "network_has_enough_addresses", {**tiny, "network": "tenantblue"}, pod)

    assert not carried_out(answer), answer


def test_the_network_of_its_own_namespace_is_short_and_a_tenant_is_in_it_too() -> None:
    remediation, name = reclaim_ipam_claim.REMEDIATION, "vm_no_longer_has_the_interface"
    pod = {"kind": "Pod", "namespace": TENANT, "name": "web", "addresses": {"ns/blue": ["10.0.0.6/29"]}}

    assert carried_out(case(remediation, name, pod))


def test_an_owner_who_heeds_others_says_so_on_the_object() -> None:
    twin, guard = reassign_mac_address.REMEDIATION, guard_instancetype.REMEDIATION

    assert carried_out(case(twin, "in_another_namespace_with_consent"))
    assert carried_out(case(guard, "a_vm_depends_on_it"))


def test_what_a_tenant_evicts_is_a_proposal_that_says_how_to_say_it_on_the_node() -> None:
    pod = {"kind": "Pod", "namespace": TENANT, "name": "app", "deleting": True, "evicted": SINCE}

    answer = case(stop_blocked_vmi.REMEDIATION, "only_a_cordon", pod)

    assert isinstance(answer, Confirmed), answer
    assert answer.plan.proposal is not None
    assert (
        answer.plan.proposal.patch == "kubectl annotate nodes node01 steward.kubevirt-steward.io/draining=maintenance"
    )
