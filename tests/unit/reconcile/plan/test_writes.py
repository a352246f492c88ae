"""Every write that a remediation plans is one that it declares, field by field, and so is what takes it back."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from exporter.facts.record import Ref
from reconcile.carry_out.execute import event
from reconcile.permissions.policy import EVENT
from reconcile.plan.annotations import APPROVED_PLAN, PAUSED
from reconcile.plan.patterns import EMPTY, PRESENT, Begins, Both, Each, Exactly, Has, Is, Like, Pattern
from reconcile.plan.plan import Add, Patch
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations
from reconcile.plan.writes import PAUSE, Created, Deleted, Entries, Field, Item, Patched, levels
from tests.all_of import each_of
from tests.planned_writes import WRITING, after, declared, holds, samples
from tests.remediation_cases import made

OF = {"patch": Patched, "create": Created, "delete": Deleted}
IDS = [each.id for each in WRITING]


@each_of("remediation", all_remediations(), ids=lambda each: each.id)
def test_each_permission_says_which_fields(remediation: Remediation) -> None:
    missing = [
        f"{verb} {write.resource}"
        for write in remediation.writes
        for verb in write.verbs
        if write.admitted and not any(isinstance(form, OF[verb]) for form in write.forms)
    ]
    assert missing == [], f"{remediation.id} declares no fields for these: give them `forms` (reconcile/plan/writes.py)"


@each_of("remediation", WRITING, ids=IDS)
def test_every_plan_is_declared(remediation: Remediation) -> None:
    plans = dict(made(remediation))
    assert plans
    found = {
        name: any(holds(form, each.plan.step, each.whole) for form in declared(remediation, each.plan.step))
        for name, each in plans.items()
    }
    assert found == dict.fromkeys(plans, True)


@each_of("remediation", WRITING, ids=IDS)
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
    noted = {**(meta.get("annotations") or {}), PAUSED: "undone by alice"}
    return {**whole, "metadata": {**meta, "annotations": noted}}


@each_of("remediation", WRITING, ids=IDS)
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
            if any(holds(form, step, whole, other) for form in declared(remediation, step)):
                pytest.fail(f"{name}: {other} is taken with it")


@each_of("undoes", ["", "a-1"])
@each_of("outcome", ["done", "failed", "in_use"])
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


def test_a_map_of_which_fields_may_change_stays_one() -> None:
    """A text in its place hides nothing that goes with it; null is as good as none."""
    form = Patched(Field("/spec/template/a", to=Is("y")))
    wanted = {"spec": {"template": {"a": "y"}}}
    nothing: list[dict[str, Any]] = [{}, {"spec": None}, {"spec": {}}]
    for none in (*nothing, {"spec": {"template": None}}, {"spec": {"template": {}}}):
        assert form.holds(wanted, none), none
    for other in ("x", 7, ["x"], ""):
        assert not form.holds(wanted, {"spec": {"template": other}}), other
        assert not form.holds({"spec": {"template": other}}, wanted), other
        assert not form.holds(wanted, {"spec": other}), other
        assert form.holds({"spec": {"template": other}}, {"spec": {"template": other}}), other
    listed = Patched(Item("/spec/list", "ours", added=True), Entries("/spec/maps", "key"))
    assert listed.holds({"spec": {"list": ["ours"], "maps": []}}, {"spec": {"list": None}})
    for key, value in (("list", ["ours"]), ("maps", [])):
        assert not listed.holds({"spec": {key: value}}, {"spec": {key: "x"}})
        assert not listed.holds({"spec": {key: "x"}}, {"spec": {key: value}})


def test_what_may_change_as_a_whole_and_in_parts_is_a_map_before_and_after() -> None:
    """Then the policy is no looser for a configuration in which nothing changes its parts."""
    forms = [form for each in WRITING for write in each.writes for form in write.forms]
    parts = set(levels(forms))
    found = {
        (field.path, odd)
        for form in forms
        if isinstance(form, Patched)
        for field, path in zip(form.fields, form.paths, strict=True)
        for odd in ("x", 7)
        if path in parts and isinstance(field, Field) and (field.was.holds(odd) or field.to.holds(odd))
    }
    assert ("spec", "template", "spec", "domain", "firmware") in parts
    assert found == set()


def test_each_form_has_a_planned_write() -> None:
    known = {id(each.form) for each in samples()}
    missing = [
        f"{remediation.id}: form {at} of {write.resource}"
        for remediation in WRITING
        for write in remediation.writes
        for at, form in enumerate(write.forms)
        if write.admitted and id(form) not in known
    ]
    assert missing == [], "tests/remediations/*.yaml have no case that plans a write of these forms"


@each_of(
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


@each_of(
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


@each_of("remediation", WRITING, ids=IDS)
def test_a_list_of_entries_may_go_back(remediation: Remediation) -> None:
    for form in (form for write in remediation.writes for form in write.forms if isinstance(form, Patched)):
        for each in form.fields:
            assert each.back().back() == each
