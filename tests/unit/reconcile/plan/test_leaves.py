"""No form of a write names a map of a CRD without what may be in it: whoever has the sidecar's token could fill it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from reconcile.plan.patterns import ANYTHING, EMPTY, PRESENT, Both, Each, Exactly, Is, Like, Pattern
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations.identity import persist_firmware_uuid
from reconcile.plan.remediations.identity._identities import PATH
from reconcile.plan.writes import PAUSE, Entries, Field, Form, Item, Patched, Path
from tests.all_of import each_of
from tests.manifests import Object
from tests.planned_writes import WRITING, after
from tests.remediation_cases import cases_of, made
from tests.tools.crds import published, schemas
from tests.tools.table import ToolMissing

# As the API server has them for all kinds.
_OWNER: Object = {"apiVersion": {}, "kind": {}, "name": {}, "uid": {}, "controller": {}, "blockOwnerDeletion": {}}
_TEXTS: Object = {"additionalProperties": {"type": "string"}}
_METADATA: Object = {
    "properties": {
        "annotations": _TEXTS,
        "labels": _TEXTS,
        "finalizers": {"items": {}},
        "ownerReferences": {"items": {"properties": _OWNER}},
    }
}
_NEVER = ("kernelBoot", "acpi")


@cache
def schema_of(resource: str, remediation: Remediation = persist_firmware_uuid.REMEDIATION) -> Object:
    """The schema of a resource in the plural, which a remediation writes; of one that is not custom, of its metadata
    alone.
    """
    return {"properties": {**_custom(resource, remediation).get("properties", {}), "metadata": _METADATA}}


def _custom(resource: str, remediation: Remediation) -> Object:
    try:
        crds = {each["spec"]["names"]["plural"]: each for each in published("ipamclaims")}
        if resource in crds:
            found: Object = crds[resource]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            return found
        return next((each for name, each in schemas().items() if f"{name}s" == resource), {})
    except ToolMissing:
        # What is known of it without: the maps in the objects of the cases.
        return _of([each.whole for _, each in made(remediation) if f"{each.whole['kind'].lower()}s" == resource])


def _of(values: list[Any]) -> Object:
    maps = [each for each in values if isinstance(each, Mapping)]
    items = [item for each in values if isinstance(each, list) for item in each]
    if not maps:
        return {"items": _of(items)} if items else {}
    keys = {key: None for each in maps for key in each}
    return {"properties": {key: _of([each[key] for each in maps if key in each]) for key in keys}}


def within(schema: Object, path: Path) -> Object:
    for key in path:
        properties = schema.get("properties", {})
        schema = properties[key] if key in properties else schema.get("additionalProperties") or {}
    return schema


def is_leaf(schema: Object) -> bool:
    return not any(schema.get(each) for each in ("properties", "additionalProperties", "items")) and not schema.get(
        "x-kubernetes-preserve-unknown-fields"
    )


def unlisted(pattern: Pattern, schema: Object, path: str) -> Iterator[str]:
    """The paths at and in a value of which a pattern leaves open what is there."""
    if is_leaf(schema) or pattern is EMPTY or isinstance(pattern, Is):
        return
    if isinstance(pattern, Both):
        found = [list(unlisted(each, schema, path)) for each in pattern._patterns]
        yield from min(found, key=len)
    elif isinstance(pattern, Each):
        yield from unlisted(pattern._item, schema.get("items", {}), f"{path}/*")
    elif isinstance(pattern, Exactly):
        for key, each in pattern._values.items():
            yield from unlisted(each, within(schema, (key,)), f"{path}/{key}")
    else:
        yield path


def open_of(form: Form, schema: Object) -> list[str]:
    """What a patch may fill as it likes, and what takes the patch back."""
    if not isinstance(form, Patched):
        return []
    found: list[str] = []
    for one in (form, form.back()) if form.can_go_back else (form,):
        for field, path in zip(one.fields, one.paths, strict=True):
            there = within(schema, path)
            if isinstance(field, Field):
                found += unlisted(field.to, there, field.path)
            elif isinstance(field, Entries):
                found += unlisted(field.to, within(there.get("items", {}), (field.key,)), f"{field.path}/*/{field.key}")
            else:
                assert isinstance(field, Item)
    return found


@each_of("remediation", WRITING, ids=lambda each: each.id)
def test_each_field_is_a_leaf_or_lists_what_is_in_it(remediation: Remediation) -> None:
    found = {
        write.resource: paths
        for write in remediation.writes
        for form in write.forms
        if (paths := open_of(form, schema_of(write.resource.partition("/")[0], remediation)))
    }
    assert found == {}, f"{remediation.id} may fill these as it likes: name their leaves, or list them by Exactly"


def test_so_is_the_pause() -> None:
    assert open_of(PAUSE, schema_of("virtualmachines")) == []


@pytest.mark.parametrize("resource", ["virtualmachines", "virtualmachineinstances", "ipamclaims"])
def test_there_is_a_schema_to_compare_with(resource: str) -> None:
    assert not is_leaf(within(schema_of(resource), ("spec",)))


@pytest.mark.parametrize(
    ("field", "open_at"),
    [
        (Field(PATH, was=Like(), to=Like(uuid=PRESENT)), PATH),
        (Field(f"{PATH}/bootloader"), f"{PATH}/bootloader"),
        (Field(f"{PATH}/bootloader", to=Exactly(efi=ANYTHING)), "/efi"),
        (Field(f"{PATH}/bootloader", to=EMPTY, was=PRESENT), "/bootloader"),  # taken back
        (Field("/metadata/ownerReferences", to=Each(Like(kind="VirtualMachine"))), "/*"),
        (Field("/metadata/annotations", to=Like(a="b")), "/annotations"),
        (Field("/status/stateChangeRequests", to=Each(Exactly(data=PRESENT))), "/*/data"),
    ],
)
def test_a_map_that_is_left_open_is_found(field: Field, open_at: str) -> None:
    assert any(each.endswith(open_at) for each in open_of(Patched(field), schema_of("virtualmachines")))


def test_without_the_published_schemas_the_objects_of_the_cases_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: str) -> Any:
        raise ToolMissing("no route")

    monkeypatch.setattr("tests.unit.reconcile.plan.test_leaves.published", missing)
    seen = _custom("virtualmachines", persist_firmware_uuid.REMEDIATION)
    old = Patched(Field(PATH, was=Like(), to=Like(uuid=PRESENT)))
    assert open_of(old, seen) == [PATH] * 2


def firmware(**fields: Any) -> Object:
    return {"metadata": {}, "spec": {"template": {"spec": {"domain": {"devices": {}, "firmware": fields}}}}}


@pytest.mark.parametrize(
    ("new", "old", "taken"),
    [
        ({"uuid": "u"}, None, True),
        ({"uuid": "u", "serial": "s", "bootloader": {"efi": {"secureBoot": False}}}, None, True),
        ({"uuid": "u", "bootloader": {"bios": {"useSerial": True}}}, {"uuid": "v"}, True),
        ({"uuid": "u", "serial": "s"}, {"uuid": "v", "serial": ""}, True),
        ({"uuid": "u", "kernelBoot": {"kernelArgs": "x"}}, None, False),
        ({"uuid": "u", "acpi": {"slicNameRef": "x"}}, None, False),
        ({"uuid": "u", "kernelBoot": {}}, {}, False),
        ({"uuid": "u"}, {"kernelBoot": {"kernelArgs": "x"}}, False),
        ({"uuid": "u", "serial": "s"}, {"uuid": "u", "serial": "t"}, False),
        ({"uuid": "u", "bootloader": {"bios": {}}}, {"uuid": "u", "bootloader": {"efi": {}}}, False),
        ({"uuid": "u", "bootloader": {"efi": {"other": True}}}, {"uuid": "u"}, False),
        ({"uuid": "u", "bootloader": {"other": {}}}, {"uuid": "u"}, False),
    ],
)
def test_of_the_firmware_only_what_is_persisted_may_be_set(new: Object, old: Object | None, taken: bool) -> None:
    (write,) = persist_firmware_uuid.REMEDIATION.writes
    (form,) = write.forms
    before = firmware(**(old or {}))
    if old is None:
        del before["spec"]["template"]["spec"]["domain"]["firmware"]
    assert isinstance(form, Patched)
    assert form.holds(firmware(**new), before) is taken


def test_whatever_the_vm_ran_with_no_kernel_and_no_acpi_table_is_put_back() -> None:
    seen = 0
    for _, each in made(persist_firmware_uuid.REMEDIATION):
        written = deepcopy(within_object(after(each.plan.step, each.whole)))  # type: ignore[arg-type]
        before = within_object(each.whole)
        assert {name: written.get(name) for name in _NEVER} == {name: before.get(name) for name in _NEVER}
        seen += 1
    given = [each["given"] for each in cases_of(persist_firmware_uuid.REMEDIATION).values()]
    assert seen
    assert any("kernelBoot" in row.get("firmware", {}) for rows in given for row in rows), (
        "no case has a kernel to boot"
    )


def within_object(whole: Any) -> Object:
    found: Object = whole["spec"]["template"]["spec"]["domain"].get("firmware") or {}
    return found
