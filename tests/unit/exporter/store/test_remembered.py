"""What is remembered stays short in all, whatever tenants write into the objects that it is made of."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from exporter.domain.instancetypes.conflicts import MOST_PATHS, conflicts, differing
from exporter.facts.specs import canonical
from exporter.facts.text_cache import TextMemo, remembered
from exporter.store.decode import Decoded, ObjectDecoder
from exporter.store.kinds import controller_revision, instancetypes, virtual_machine

_MOST = 24 << 20


def _decoded(kind: Any, **fields: Any) -> Decoded:
    thing = {"metadata": {"name": "x", "namespace": "ns"}} | fields
    return ObjectDecoder(kind).object(json.dumps(thing).encode())


def _copy(number: int) -> None:
    """Of another one each: the text is a megabyte long."""
    spec = {"x": f"{number}" + "y" * (1 << 20)}
    data = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineInstancetype", "spec": spec}
    assert _decoded(controller_revision.KIND, data=data).record is not None


def _of_another_controller(number: int) -> None:
    assert _decoded(controller_revision.KIND, data={"spec": f"{number}" + "y" * (1 << 20)}).record is not None


def _instancetype(number: int) -> None:
    spec = {"annotations": {f"{number}-{each}": "y" * 1000 for each in range(1000)}}
    found = _decoded(instancetypes.INSTANCETYPE, spec=spec).record
    assert found is not None
    assert found.gives.annotations  # type: ignore[attr-defined]


def _template(number: int) -> None:
    template = {"metadata": {"annotations": {"x": f"{number}" + "y" * (1 << 20)}}}
    spec = {"template": template, "instancetype": {"name": "small"}}
    found = _decoded(virtual_machine.KIND, spec=spec).record
    assert found is not None
    conflicts(found.shape, canonical(b"{}"), (1, 7))  # type: ignore[attr-defined]


def _drift(number: int) -> None:
    long = "k" * 500_000
    deep = canonical(json.dumps({long: {f"{number}-{each}": each for each in range(2_000)}}).encode())
    assert len(differing(deep, canonical(b"{}"))) == MOST_PATHS + 1


@pytest.mark.parametrize("make", [_copy, _of_another_controller, _instancetype, _template, _drift])
def test_what_forty_large_objects_leave_behind(make: Any) -> None:
    tracemalloc.start()
    try:
        for number in range(40):
            make(number)
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < _MOST
    assert most < 2 * _MOST


def test_what_was_asked_for_is_not_made_again() -> None:
    made = []

    @remembered(2)
    def length(text: str) -> int:
        made.append(text)
        return len(text)

    assert [length(text) for text in ("a", "bb", "a", "ccc", "a", "bb")] == [1, 2, 1, 3, 1, 2]
    assert made == ["a", "bb", "ccc", "bb"]  # of two the one that was asked for first went
    long = "d" * (5 << 20)
    assert length(long) == length(long) == 5 << 20
    assert length("bb") == 2
    assert made[4:] == [long, long]


@pytest.mark.parametrize("levels", [100, 600, 900, 20_000])
def test_a_copy_is_read_however_deep_it_is_nested(levels: int) -> None:
    deep = b'{"x":' * levels + b"1" + b"}" * levels
    decoder = ObjectDecoder(controller_revision.KIND)
    data = b'{"apiVersion":"instancetype.kubevirt.io/v1beta1","kind":"VirtualMachineInstancetype","spec":' + deep + b"}"
    found = decoder.object(b'{"metadata":{"name":"r"},"data":' + data + b"}")
    assert isinstance(found.record, controller_revision.ControllerRevision)
    assert found.record.stash is not None
    assert not found.record.stash.why


def test_what_is_kept_by_its_text_stays_short_in_all() -> None:
    kept = TextMemo[int]()
    kept.keep(b"a", 1)
    assert (kept.get(b"a"), kept.get(b"b")) == (1, None)
    kept.keep(b"d" * (5 << 20), 2)
    assert (kept.get(b"a"), kept.get(b"d" * (5 << 20))) == (1, None)
    long = [bytes([each]) * (1 << 20) for each in b"vwxyz"]
    for each in long:
        kept.keep(each, each[0])
    assert [kept.get(each) for each in long] == [None, None, None, ord("y"), ord("z")]
    assert kept.get(b"a") is None
