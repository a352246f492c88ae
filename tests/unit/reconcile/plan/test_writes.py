"""Every write that a remediation plans is one that it declares, field by field, and so is what takes it back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from demo.apiserver.patching import patched
from exporter.store.record import Ref
from reconcile.act.events import event
from reconcile.permissions.policy import EVENT
from reconcile.plan.annotations import APPROVED_PLAN, PAUSED
from reconcile.plan.patterns import EMPTY, PRESENT, Begins, Both, Each, Exactly, Has, Is, Like, Pattern
from reconcile.plan.plan import Add, Create, Delete, Op, Patch, Step
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations
from reconcile.plan.writes import PAUSE, Created, Deleted, Field, Form, Item, Patched
from tests.evaluation import api_kinds
from tests.remediation_cases import made

OF = {"patch": Patched, "create": Created, "delete": Deleted}
WRITING = [each for each in all_remediations() if any(write.admitted for write in each.writes)]
IDS = [each.id for each in WRITING]


def declared(remediation: Remediation, step: Step) -> Iterator[Form]:
    """The forms of a remediation for the resource of a step."""
    kind = api_kinds()[step.target.kind]
    subresource = f"/{step.subresource}" if isinstance(step, Patch) and step.subresource else ""
    for write in remediation.writes:
        if (write.group, write.resource) == (kind.group, f"{kind.plural}{subresource}"):
            yield from write.forms


def after(step: Patch, whole: Mapping[str, Any], *more: Op) -> Any:
    return patched(deepcopy(dict(whole)), "application/json-patch+json", msgspec.json.encode((*step.ops, *more)))


def holds(forms: Iterator[Form], step: Step, whole: Mapping[str, Any], *more: Op) -> bool:
    if isinstance(step, Create):
        return any(isinstance(each, Created) and each.new.holds(step.manifest) for each in forms)
    if isinstance(step, Delete):
        return any(isinstance(each, Deleted) and each.old.holds(whole) for each in forms)
    assert isinstance(step, Patch)
    new = after(step, whole, *more)
    return any(isinstance(each, Patched) and each.holds(new, whole) for each in forms)


@pytest.mark.parametrize("remediation", all_remediations(), ids=lambda each: each.id)
def test_each_permission_says_which_fields(remediation: Remediation) -> None:
    missing = [
        f"{verb} {write.resource}"
        for write in remediation.writes
        for verb in write.verbs
        if write.admitted and not any(isinstance(form, OF[verb]) for form in write.forms)
    ]
    assert missing == [], f"{remediation.id} declares no fields for these: give them `forms` (reconcile/plan/writes.py)"


@pytest.mark.parametrize("remediation", WRITING, ids=IDS)
def test_every_plan_is_declared(remediation: Remediation) -> None:
    plans = dict(made(remediation))
    assert plans
    found = {
        name: holds(declared(remediation, each.plan.step), each.plan.step, each.whole) for name, each in plans.items()
    }
    assert found == dict.fromkeys(plans, True)


@pytest.mark.parametrize("remediation", WRITING, ids=IDS)
def test_every_patch_can_be_taken_back_where_its_plan_says_so(remediation: Remediation) -> None:
    for name, each in made(remediation):
        step = each.plan.step
        if not isinstance(step, Patch) or each.plan.undo.startswith("none"):
            continue
        forms = (form.back() for form in declared(remediation, step) if isinstance(form, Patched) and form.can_go_back)
        before = each.whole if step.subresource else paused(each.whole)
        assert any(form.holds(before, after(step, each.whole)) for form in forms), name


def paused(whole: Mapping[str, Any]) -> dict[str, Any]:
    meta = whole["metadata"]
    noted = {**(meta.get("annotations") or {}), PAUSED: "taken back by alice"}
    return {**whole, "metadata": {**meta, "annotations": noted}}


@pytest.mark.parametrize("remediation", WRITING, ids=IDS)
def test_no_plan_may_change_anything_else_with_it(remediation: Remediation) -> None:
    others = (
        Add("/spec/other", {"a": 1}),
        Add("/status", {"a": 1}),
        Add("/metadata/name", "other"),
        Add("/metadata/finalizers", ["other"]),
        Add("/metadata/annotations", {APPROVED_PLAN: "0"}),
        Add("/metadata/labels", {"other": "b"}),
    )
    for name, each in made(remediation):
        step, whole = each.plan.step, {"spec": {}, **each.whole}
        if not isinstance(step, Patch):
            continue
        for other in others:
            if holds(declared(remediation, step), step, whole, other):
                pytest.fail(f"{name}: {other} is taken with it")


@pytest.mark.parametrize("undoes", ["", "a-1"])
@pytest.mark.parametrize("outcome", ["done", "failed", "in_use"])
def test_every_event_is_declared(outcome: str, undoes: str) -> None:
    plan = next(each.plan for _, each in made(WRITING[0]))
    _, manifest = event(msgspec.structs.replace(plan, undoes=undoes), "a-2", outcome, 0.0, "v1")
    assert EVENT.holds(manifest)
    assert not EVENT.holds({**manifest, "reason": "Killing"})
    assert not EVENT.holds({**manifest, "source": {"component": "kubelet"}})


def test_a_form_takes_its_fields_and_nothing_else() -> None:
    form = Patched(Field("/spec/a", was=Is("x"), to=Is("y")), Item("/metadata/finalizers", "ours", added=True))
    old: Any = {"metadata": {"name": "n", "resourceVersion": "1", "finalizers": ["a"]}, "spec": {"a": "x", "b": 1}}

    def becomes(**spec: Any) -> dict[str, Any]:
        return {**old, "spec": {**old["spec"], **spec}}

    assert form.holds(old | {"metadata": old["metadata"] | {"resourceVersion": "2"}}, old)
    assert form.holds(becomes(a="y"), old)
    assert not form.holds(becomes(a="z"), old)
    assert not form.holds(becomes(b=2), old)
    assert not form.holds(becomes(c=None), old)
    assert not form.back().holds(old, becomes(a="y"))  # it is not paused
    paused = becomes() | {"metadata": old["metadata"] | {"annotations": {PAUSED: "by alice"}}}
    assert form.back().holds(paused, becomes(a="y"))
    assert not form.back().holds(paused | {"spec": {"a": "w", "b": 1}}, becomes(a="y"))
    for finalizers, fits in ((["a", "ours"], True), (["ours"], False), ([], False), (["a", "b"], False)):
        assert form.holds(old | {"metadata": old["metadata"] | {"finalizers": finalizers}}, old) is fits
    noted = Patched(Field("/spec/note", was=PRESENT, to=EMPTY), old=Like(spec=Like(note=PRESENT)))
    assert noted.holds(becomes(), becomes(note="x"))
    assert noted.back().holds(paused | {"spec": becomes(note="x")["spec"]}, becomes())  # the note is there again
    assert not noted.back().holds(paused, becomes())
    assert PAUSE.holds(paused, becomes())
    assert not PAUSE.holds(becomes(), paused)


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not"),
    [
        (PRESENT, ["a", True, 0], [None, ""]),
        (EMPTY, [None], ["", 0, False]),
        (Is(True), [True], [1, "true", None]),
        (Is("a", "b"), ["a", "b"], ["c", "", None]),
        (Begins("a-", "b-"), ["a-1", "b-"], ["c", "", None, 1]),
        (Like(a="b"), [{"a": "b"}, {"a": "b", "c": 1}], [{}, {"a": "c"}, None, "a"]),
        (Exactly(a=PRESENT), [{"a": "b"}], [{}, {"a": "b", "c": 1}, None]),
        (Both(Like(a="b"), Like(c=1)), [{"a": "b", "c": 1}], [{"a": "b"}, {"c": 1}, None]),
        (Has("a"), [["a"], ["b", "a"]], [[], ["b"], None, "a"]),
        (Each(Like(a="b")), [[], None, [{"a": "b"}, {"a": "b"}]], [[{"a": "c"}], [{}], "a"]),
        (Each("a", one=True), [["a"]], [[], None, ["a", "a"], ["b"]]),
    ],
)
def test_patterns(pattern: Pattern, fits: list[Any], does_not: list[Any]) -> None:
    assert [pattern.holds(each) for each in (*fits, *does_not)] == [True] * len(fits) + [False] * len(does_not)


NOBODY = Ref("VirtualMachine", "ns", "db", "u")
INTERFACES = [{"name": "a", "bridge": {}, "macAddress": "02:00:00:00:00:01"}, {"name": "b", "bridge": {}}]


@pytest.mark.parametrize(
    ("path", "value", "allowed"),
    [
        ("/0/macAddress", "02:00:00:00:00:02", True),
        ("/0/macAddress", "", False),  # which KubeMacPool fills in with the old one
        ("/1/macAddress", "02:00:00:00:00:02", False),  # that interface had none
        ("/0/model", "e1000", False),
        ("/0/name", "c", False),
        ("/-", {"name": "c", "bridge": {}}, False),
        ("", [], False),
    ],
)
def test_of_the_interfaces_only_an_address_that_is_there_may_be_another(path: str, value: Any, allowed: bool) -> None:
    remediation = next(each for each in all_remediations() if each.id == "reassign_mac_address")
    devices = {"interfaces": INTERFACES}
    old = {"metadata": {"name": "db"}, "spec": {"template": {"spec": {"domain": {"devices": devices}}}}}
    new = after(Patch(target=NOBODY, ops=(Add(f"/spec/template/spec/domain/devices/interfaces{path}", value),)), old)
    (form,) = (form for write in remediation.writes for form in write.forms if isinstance(form, Patched))
    assert form.holds(new, old) is allowed
    pooled = deepcopy(new) | {"metadata": {"name": "db", "annotations": {"kubemacpool.io/transaction-timestamp": "t"}}}
    assert form.holds(pooled, old) is allowed
    assert not form.holds(pooled | {"metadata": {"name": "db", "annotations": {"example.org/x": "t"}}}, old)


@pytest.mark.parametrize("remediation", WRITING, ids=IDS)
def test_a_list_of_entries_may_go_back(remediation: Remediation) -> None:
    for form in (form for write in remediation.writes for form in write.forms if isinstance(form, Patched)):
        for each in form.fields:
            assert each.back().back() == each
