"""Another object than the one that was asked for proves nothing: neither that the one is there, nor that it is not."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from exporter.store.kind import ApiKind
from reconcile.plan.plan import Refused
from reconcile.plan.remediations import all_remediations

from ....all_of import each_of
from ....confirming import MemoryReads, confirmed, hint_of
from ....remediation_cases import cases_of
from ....rows import full


class OtherReads(MemoryReads):
    """Answers a GET of a namespace with something else."""

    def __init__(self, objects: list[dict[str, Any]], answer: bytes) -> None:
        super().__init__(objects)
        self._answer = answer

    async def get(self, kind: ApiKind[Any], version: str, namespace: str, name: str) -> bytes | None:
        found = await super().get(kind, version, namespace, name)
        return self._answer if kind.name == "Namespace" else found


@each_of(
    "answer",
    [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other", "uid": "u9"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ns", "namespace": "ns", "uid": "u9"}},
        {"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success"},
        {"kind": "Namespace", "metadata": None},
        {},
        [],
        None,
    ],
)
def test_another_object_is_no_answer(answer: Any) -> None:
    remediation = next(each for each in all_remediations() if each.id == "cancel_stale_evacuation")
    case = cases_of(remediation)["its_namespace_is_being_deleted"]
    objects = [full(row) for row in case["given"]]
    refused = confirmed(remediation, hint_of(case["about"], objects), OtherReads(objects, json.dumps(answer).encode()))
    assert isinstance(refused, Refused)
    assert refused.precondition == "everything_seen"
    assert "namespaces" in refused.why


class OtherList(MemoryReads):
    """Answers a list of VMs with something else in it."""

    def __init__(self, objects: list[dict[str, Any]], item: bytes) -> None:
        super().__init__(objects)
        self._item = item

    async def listed(self, kind: ApiKind[Any], version: str, namespace: str | None) -> list[msgspec.Raw]:
        found = await super().listed(kind, version, namespace)
        return [*found, msgspec.Raw(self._item)] if kind.name == "VirtualMachine" else found


@pytest.mark.parametrize(
    "item",
    [
        {"kind": "Pod", "metadata": {"name": "db", "namespace": "ns", "uid": "u9"}},
        {"metadata": {"name": "db", "uid": "u9"}},
        {"kind": ["VirtualMachine"], "metadata": {"name": "db", "namespace": "ns"}},
        {"metadata": None},
        [],
    ],
)
def test_a_list_with_another_object_is_no_list(item: Any) -> None:
    remediation = next(each for each in all_remediations() if each.id == "reassign_firmware_uuid")
    case = cases_of(remediation)["twin_of_one_that_runs"]
    objects = [full(row) for row in case["given"]]
    hint = hint_of(case["about"], objects)
    assert not isinstance(confirmed(remediation, hint, MemoryReads(objects)), Refused)

    refused = confirmed(remediation, hint, OtherList(objects, json.dumps(item).encode()))

    assert isinstance(refused, Refused)
    assert refused.precondition == "everything_seen"
    assert "list virtualmachines" in refused.why
