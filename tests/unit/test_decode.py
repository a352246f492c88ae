"""Whatever the bytes, decoding gives an object, an undecodable object, or an expected error."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.kube.decode import Decoder
from exporter.kube.errors import MalformedError, StatusError
from exporter.model.kind import ApiKind
from exporter.model.kinds import network_attachment_definition, pod
from tests.evaluation import api_kinds

KINDS = api_kinds().values()
DECODERS = {kind.name: Decoder(kind) for kind in KINDS}
DEEP = b'{"metadata":{"name":"a"},"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
OBJECTS = {
    "empty": b"{}",
    "null": b"null",
    "list": b"[]",
    "no text": b'{"metadata":{"name":"\xff"}}',
    "no text beside a name": b'{"metadata":{"name":"a","uid":"\xff"}}',
    "deep": DEEP,
    "metadata null": b'{"metadata":null}',
    "metadata text": b'{"metadata":"x"}',
    "name number": b'{"metadata":{"name":7}}',
    "endless number": b'{"metadata":{"name":"a","resourceVersion":"' + b"9" * 5000 + b'"}}',
    "first moment": b'{"metadata":{"name":"a","creationTimestamp":"0001-01-01T00:00:00+14:00"}}',
    "no moment": b'{"metadata":{"name":"a","deletionTimestamp":"tomorrow"}}',
    "code text": b'{"code":"x","message":7}',
    "message no text": b'{"code":12,"message":"\xff"}',
}

FIELDS = ("metadata", "spec", "status", "name", "namespace", "labels", "annotations", "ownerReferences", "conditions")
atoms = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8)
)


def containers(of: st.SearchStrategy[Any], names: tuple[str, ...]) -> st.SearchStrategy[Any]:
    return st.lists(of, max_size=2) | st.dictionaries(st.sampled_from(names), of, max_size=2)


# Three levels, each of few values: st.recursive draws far more than it uses, and under load that takes seconds.
nested = atoms | containers(atoms, ("name", "ips", "x"))
json_values = nested | containers(nested, ("name", "ips", "x"))
untimed = settings(deadline=None)  # how long an example takes is the computer's affair


@pytest.mark.parametrize("obj", OBJECTS.values(), ids=OBJECTS)
def test_malformed_objects(obj: bytes) -> None:
    for kind in KINDS:
        for type_ in ("ADDED", "DELETED", "BOOKMARK", "ERROR", ""):
            decode(kind, type_, obj)


NESTED = '{"a":' * 5000 + "1" + "}" * 5000
HOSTILE = {
    "network selection": (pod.KIND, {"metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": NESTED}}}),
    "pod networks": (pod.KIND, {"metadata": {"annotations": {"k8s.ovn.org/pod-networks": NESTED}}}),
    "configuration of a NAD": (network_attachment_definition.KIND, {"metadata": {}, "spec": {"config": NESTED}}),
}


@pytest.mark.parametrize(("kind", "obj"), HOSTILE.values(), ids=HOSTILE)
def test_text_that_is_nested_without_end_costs_its_object_alone(kind: ApiKind[Any], obj: dict[str, Any]) -> None:
    decoder = DECODERS[kind.name]
    name = {"name": "a", "namespace": "ns", "uid": "u"}
    raw = json.dumps({**obj, "metadata": {**obj["metadata"], **name}}).encode()
    fine = json.dumps({"metadata": {**name, "name": "fine"}}).encode()
    event = decoder.event(b'{"type":"ADDED","object":' + raw + b"}")
    page = decoder.page(b'{"metadata":{"resourceVersion":"1"},"items":[' + raw + b"," + fine + b"]}")
    assert event.decoded == decoder.object(raw) == page.objects[0]
    assert (page.objects[0].namespace, page.objects[0].name) == ("ns", "a")
    assert (page.objects[1].name, page.objects[1].why) == ("fine", "")


@untimed
@given(st.sampled_from(tuple(KINDS)), st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=4))
def test_any_object(kind: ApiKind[Any], obj: dict[str, Any]) -> None:
    decode(kind, "MODIFIED", json.dumps(obj).encode())


@untimed
@given(st.sampled_from(tuple(KINDS)), st.binary())
def test_any_bytes(kind: ApiKind[Any], obj: bytes) -> None:
    decode(kind, "MODIFIED", obj)


def decode(kind: ApiKind[Any], type_: str, obj: bytes) -> None:
    decoder = DECODERS[kind.name]
    decoded = decoder.object(obj)
    assert decoded.record is None or not decoded.why
    with suppress(MalformedError, StatusError):
        event = decoder.event(b'{"type":"' + type_.encode() + b'","object":' + obj + b"}")
        assert event.decoded is None or event.decoded.name
    with suppress(MalformedError):
        decoder.page(b'{"metadata":{"resourceVersion":"1"},"items":[' + obj + b"]}")


def test_an_error_response_may_have_any_body() -> None:
    assert str(StatusError.of(500, b'{"message":"\xff"}')) == '500 {"message":"\ufffd"}'
    assert StatusError.of(429, b"slow down", "7").retry_after == 7.0
    assert StatusError.of(429, b"slow down", "Wed, 21 Oct 2026 07:28:00 GMT").retry_after is None
    assert str(StatusError.of(503, b"")) == "503 without a message"
