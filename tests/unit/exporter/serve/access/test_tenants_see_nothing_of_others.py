"""Every case of every check beside another namespace with the same VMs: no name of there is in a tenant's answers."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from exporter.cli.output.vm import whole_vm
from exporter.engine.engine import Engine
from exporter.engine.evaluate import at_once, evaluate
from exporter.facts.naming import NAMED
from exporter.facts.record import Ref
from exporter.findings.check import Check
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.questions import tenant_text, vm
from exporter.questions.asked import VMsQuery
from exporter.questions.findings import Filter
from exporter.questions.selection import ANYTHING
from exporter.questions.vm.owner import for_owner
from exporter.questions.vms import QUESTION as VMS
from exporter.serve.access.viewer import Visible
from exporter.serve.reports.listing import Listing
from exporter.serve.reports.listings import Listings
from exporter.serve.reports.result_cache import Versions
from exporter.sidecar import Repairs, decoding
from exporter.store.indexes.drains import NODE
from exporter.store.source import SyncState

from .....all_of import each_of
from .....check_cases import CHECKS, cases_of
from .....evaluation import Evaluation
from .....reported_repairs import plans, repair
from .....rows import CLUSTER_WIDE, full

FOREIGN = "xq7"  # is in every name of there, and in nothing else
OWN = "ns"
PLATFORM = (
    "KubeVirt",
    "Deployment",
    "EndpointSlice",
    "MutatingWebhookConfiguration",
)  # of which a cluster has one: it is there


def renamed(thing: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The object, in another namespace, under another name; what it refers to is there, too."""
    found = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, names))})(?![\w-])")
    values = _strings(thing, lambda text: found.sub(rf"\1-{FOREIGN}", text))
    values["metadata"] = {**values["metadata"], "name": f"{thing['metadata']['name']}-{FOREIGN}"}
    if thing["metadata"].get("namespace"):
        values["metadata"]["namespace"] = f"{thing['metadata']['namespace']}-{FOREIGN}"
    return {**values, "kind": thing["kind"], "apiVersion": thing["apiVersion"]}


def _strings(value: Any, change: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strings(each, change) for key, each in value.items()}
    if isinstance(value, list):
        return [_strings(each, change) for each in value]
    return change(value) if isinstance(value, str) else value


def doubled(check: Check, case: dict[str, Any]) -> Evaluation:
    evaluation = Evaluation([check], case.get("unsynced", ()), indexes=vm.INDEXES)
    for name, sync_state in case.get("sync_state", {}).items():
        evaluation.sync_state(name, SyncState(sync_state))
    things = [full(row) for row in case["given"]]
    local = [each for each in things if each["kind"] not in CLUSTER_WIDE]
    names = [each["metadata"]["name"] for each in local] + [each["metadata"].get("uid", "") for each in local]
    names = sorted({OWN, *(each["metadata"]["namespace"] for each in local), *filter(None, names)}, key=len)[::-1]
    for each in things:
        elsewhere = each["metadata"].get("namespace", OWN) != OWN or each["kind"] in PLATFORM
        if each["kind"] in CLUSTER_WIDE and each["kind"] not in ("Namespace", *PLATFORM):
            evaluation.seen(each)
            continue
        if not elsewhere:
            evaluation.seen(each)
        evaluation.seen(renamed(each, names))
    evaluation.evaluate()
    return evaluation


def listings(engine: Engine) -> Listings:
    repairs = Repairs(1.0)
    words = dict.fromkeys(("target", "write", "why", "effect", "risk", "undo", "hash"), FOREIGN)
    said = [
        repair(
            each.fingerprint,
            **words,
            loses=[FOREIGN],
            commands=[FOREIGN],
            refused={"precondition": "p", "why": FOREIGN},
            blocked=[{"gate": "g", "why": FOREIGN}],
            proposal={"owner": FOREIGN, "where": FOREIGN, "patch": FOREIGN},
        )
        for each in engine.findings()
    ]
    repairs.take(at_once(decoding(json.dumps(plans(FOREIGN, *said)).encode())))
    repairs.lost(FOREIGN, 2.0)
    return Listings(engine, Versions(engine, repairs))


async def report(listing: Listing, wanted: Filter = Filter()) -> Any:  # noqa: B008 # frozen
    encoded = await listing.encoded(wanted)
    return json.loads(b"".join([part async for part in encoded.parts()]))


@each_of("check", CHECKS, ids=lambda check: check.id)
async def test_no_name_of_another_namespace_is_in_the_answers_of_a_tenant(check: Check) -> None:
    shown = whole = crossing = 0
    for name, case in cases_of(check).items():
        evaluation = doubled(check, case)
        every = listings(evaluation.engine)
        tenant = every.of(Visible(frozenset([OWN])))
        seen = await report(tenant)
        counts = await tenant.counts(ANYTHING)
        causes = await tenant.causes(Filter())
        assert FOREIGN not in repr(causes)
        assert {each.cause for each in causes} == {each["cause"] for each in seen["findings"]}
        mine = [each for each in evaluation.engine.findings() if each.subject.namespace == OWN]
        crossing += sum(FOREIGN in repr(each) for each in mine)
        shown += len(mine)
        said = {each.fingerprint: each.message for each in mine}
        whole += sum(each["message"] == said[each["fingerprint"]] for each in seen["findings"])

        assert FOREIGN not in json.dumps(seen), name
        assert FOREIGN not in repr(counts), name
        assert {each["subject"]["namespace"] for each in seen["findings"]} <= {OWN}, name
        assert sorted(each["fingerprint"] for each in seen["findings"]) == sorted(each.fingerprint for each in mine)
        vms = at_once(VMS.steps(evaluation.engine, (every.index, Visible(frozenset([OWN]))), VMsQuery()))
        assert FOREIGN not in repr(vms), name
        assert {row.vm.namespace for row in vms.rows} <= {OWN}, name
        for row in vms.rows:
            one = at_once(vm.steps(evaluation.engine, OWN, row.vm.name))
            read = [tenant.report_of(each) for each in await tenant.of_vm(OWN, row.vm.name)]
            owners = for_owner(one, read, evaluation.engine.restraints.of(OWN, row.vm.name))
            assert FOREIGN not in repr(owners), (name, owners)
            assert FOREIGN not in whole_vm(owners), name
            assert {each.answer for each in owners.verdicts if each.act in ("start", "restart")} <= {"no", "unknown"}
        assert counts["severity"].total() == len(mine)
        assert seen["sources"] == []
        assert "reconcile" not in seen
    assert bool(crossing) >= (check.id in CROSSING), "of findings whose whole text names the other namespace"
    if shown and not crossing and in_one_namespace(check):
        assert whole, "what nothing of another namespace is in is shown as it is"


CROSSING = {
    "address_duplicates",
    "evictions",
    "firmware_duplicates",
    "firmware_serials",
    "ipam_claims",
    "ipam_networks",
    "mac_duplicates",
}
"""Some whose cases have such findings: without them the test above would prove nothing."""


def in_one_namespace(check: Check) -> bool:
    """Whether what it is about has a namespace, always: what is cluster-wide, or on one node, is everybody's."""
    return check.scope.by is not NODE and not any(kind.name in CLUSTER_WIDE for kind in check.requires)


def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The partitions that are evaluated from now on, to find what a tenant may read."""
    evaluated: list[str] = []

    def counted(check: Check, cluster: Any, partition: str, *rest: Any, **options: Any) -> Any:
        evaluated.append(partition)
        return evaluate(check, cluster, partition, *rest, **options)

    monkeypatch.setattr(tenant_text, "evaluate", counted)
    return evaluated


def named(check_id: str) -> Check:
    (check,) = (each for each in CHECKS if each.id == check_id)
    return check


async def test_many_findings_of_one_partition_cost_one_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes clones of one VM must not hold up everybody by looking at them."""
    evaluated = counting(monkeypatch)
    evaluation = Evaluation([named("firmware_duplicates")])
    evaluation.seen(full({"kind": "KubeVirt", "name": "kubevirt", "version": "v1.6.2"}))
    shared = "5a9fc181-957e-5c32-9e5a-2de5e9673531"
    for at in range(50):
        vm = {"namespace": OWN, "name": f"clone-{at}", "uuid": shared}
        evaluation.seen(full({"kind": "VirtualMachine", "uid": f"u{at}", **vm}))
        evaluation.seen(full({"kind": "VirtualMachineInstance", "uid": f"i{at}", "vm": f"u{at}", **vm}))
    evaluation.evaluate()
    seen = await report(listings(evaluation.engine).of(Visible(frozenset([OWN]))))
    assert len(seen["findings"]) >= 50
    assert any(each["evidence"] for each in seen["findings"])
    assert len(evaluated) == len(set(evaluated)) <= 2


def asking(namespace: str, binding: str) -> dict[str, Any]:
    """A stopped VM that asks for a binding that KubeVirt has discontinued."""
    interfaces = [{"name": "default", binding: {}}]
    return full(
        {
            "kind": "VirtualMachine",
            "namespace": namespace,
            "name": "db",
            "uid": f"u-{namespace}",
            "runStrategy": "Halted",
            "domain": {"devices": {"interfaces": interfaces}},
            "networks": {"default": "pod"},
        }
    )


async def test_other_subsets_of_a_tenants_namespaces_cost_no_further_evaluation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluated = counting(monkeypatch)
    evaluation = Evaluation([named("feature_mismatch")])
    evaluation.seen(full({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.4"}))
    places = [f"ns-{at}" for at in range(10)]
    for place in places:
        evaluation.seen(asking(place, "slirp"))
    evaluation.evaluate()
    every = listings(evaluation.engine)

    async def features(*subset: str) -> dict[str, str]:
        seen = await report(every.of(Visible(frozenset(subset))))
        return {each["subject"]["namespace"]: each.get("feature", "") for each in seen["findings"]}

    for left_out in places:
        subset = [each for each in places if each != left_out]
        assert await features(*subset) == dict.fromkeys(subset, "slirp")
    assert sorted(evaluated) == sorted(set(evaluated))
    assert len(evaluated) == len(places)

    evaluated.clear()
    evaluation.seen(asking("ns-3", "macvtap"))
    evaluation.evaluate()
    assert await features(*places[3:5]) == {"ns-3": "macvtap", "ns-4": "slirp"}
    assert await features(*places[2:4]) == {"ns-2": "slirp", "ns-3": "macvtap"}
    assert len(evaluated) == 1


async def test_what_two_namespaces_share_is_shown_to_who_asks_for_both_and_costs_two_evaluations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever asks for one of them first changes nothing of that, nor how often they ask."""
    evaluated = counting(monkeypatch)
    evaluation = Evaluation([named("firmware_duplicates")])
    evaluation.seen(full({"kind": "KubeVirt", "name": "kubevirt", "version": "v1.6.2"}))
    shared = "5a9fc181-957e-5c32-9e5a-2de5e9673531"
    for place in ("a", "b"):
        vm = {"namespace": place, "name": "clone", "uuid": shared}
        evaluation.seen(full({"kind": "VirtualMachine", "uid": f"u-{place}", **vm}))
        evaluation.seen(full({"kind": "VirtualMachineInstance", "uid": f"i-{place}", "vm": f"u-{place}", **vm}))
    evaluation.evaluate()
    partitions = {evaluation.engine.partition_of(each) for each in evaluation.engine.findings()}
    every = listings(evaluation.engine)

    async def whole(*subset: str) -> set[bool]:
        seen = await report(every.of(Visible(frozenset(subset))))
        assert {each["subject"]["namespace"] for each in seen["findings"]} == set(subset) & {"a", "b"}
        return {bool(each["evidence"]) for each in seen["findings"]}

    for more in ("c", "d", "e"):
        assert await whole("a", more) == {False}
        assert await whole("b", more) == {False}
        assert await whole("a", "b", more) == {True}
    assert len(evaluated) <= 2 * len(partitions)


def test_a_namespace_that_was_made_anew_has_another_uid() -> None:
    """By it a decision on a namespace is not one on another that has its name later."""
    evaluation = Evaluation(CHECKS)
    every = listings(evaluation.engine)
    assert every.uid_of("shop") == ""
    for uid in ("u1", "u2"):
        evaluation.seen(full({"kind": "Namespace", "name": "shop", "uid": uid}))
        assert every.uid_of("shop") == uid
        evaluation.gone("Namespace", "shop", "shop")
    assert every.uid_of("shop") == ""


def test_nothing_is_related_to_what_is_withheld_however_many_there_are() -> None:
    def refs(*namespaces: str) -> tuple[Ref, ...]:
        return tuple(Ref("VirtualMachine", each, f"vm-{at}", str(at)) for at, each in enumerate(namespaces))

    for others in (0, 3, NAMED):
        related = refs(*(["other"] * others), OWN, OWN)
        finding = Finding(
            reason="Duplicate", severity=Severity.WARNING, subject=refs(OWN)[0], message="m", related=related
        )
        assert tenant_text.withheld(finding, "meaning").related == ()
