"""Whatever the bytes, decoding gives an object, an undecodable object, or an expected error."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.facts.nesting import cut
from exporter.facts.record import UnreadableFactError
from exporter.kube.errors import MalformedError, StatusError
from exporter.kube.watch.listing import Decoded, Decoder
from exporter.store.kind import ApiKind
from exporter.store.kinds import (
    ipam_claim,
    kube_virt,
    network_attachment_definition,
    node,
    pod,
    virtual_machine,
    virtual_machine_instance,
)
from exporter.store.kinds.instancetypes import RESOURCES
from tests.all_of import each_of
from tests.amounts import drawn, part
from tests.evaluation import api_kinds

KINDS = tuple(api_kinds().values())
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
flat = atoms | containers(atoms, ("name", "ips", "x"))
json_values = flat | containers(flat, ("name", "ips", "x"))


@each_of("obj", OBJECTS.values(), ids=OBJECTS)
def test_malformed_objects(obj: bytes) -> None:
    for kind in KINDS:
        for type_ in ("ADDED", "DELETED", "BOOKMARK", "ERROR", ""):
            decode(kind, type_, obj)


NAME = {"name": "a", "namespace": "ns", "uid": "u"}


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def seen(kind: ApiKind[Any], raw: bytes) -> Decoded:
    """The object as each way of reading gives it, all the same, beside others that each of them gives too."""
    decoder = DECODERS[kind.name]
    fine = json.dumps({"metadata": {**NAME, "name": "fine"}}).encode()
    page = decoder.page(b'{"metadata":{"resourceVersion":"1"},"items":[' + fine + b"," + raw + b"," + fine + b"]}")
    assert [(each.name, each.why) for each in (page.objects[0], page.objects[2])] == [("fine", "")] * 2
    assert page.version == "1"
    for type_ in ("ADDED", "MODIFIED", "DELETED"):
        event = decoder.event(b'{"type":"' + type_.encode() + b'","object":' + raw + b"}")
        assert (event.type, event.decoded) == (type_, page.objects[1])
    assert decoder.object(raw) == page.objects[1]
    assert (page.objects[1].namespace, page.objects[1].name) == ("a" if kind.name == "Namespace" else "ns", "a")
    return page.objects[1]


@drawn
@each_of("levels", [3_000, 9_000, 100_000])
@each_of("kind", part(KINDS, 4), ids=lambda kind: kind.name)
def test_what_nobody_reads_may_be_nested_without_end(kind: ApiKind[Any], levels: int) -> None:
    # Of an instancetype or preference the whole spec is kept, since it is compared with its copies.
    beside = '"status"' if kind.name in RESOURCES else '"spec"'
    shape = '{"metadata": %s, ' + beside + ': {"template": {"metadata": %s, "spec": {}}}}'
    plain = DECODERS[kind.name].object((shape % (json.dumps(NAME), "{}")).encode())
    assert seen(kind, (shape % (json.dumps(NAME), nested(levels))).encode()) == plain
    assert plain.why == ""


def test_an_undecodable_object_that_is_nested_without_end_keeps_its_name() -> None:
    for before in (b"", b'"x":' + nested(3_000).encode() + b","):
        raw = b"{" + before + b'"metadata":{"name":"a","namespace":"ns","deletionTimestamp":7},"spec":' + DEEP + b"}"
        assert seen(virtual_machine.KIND, raw).why


def test_in_the_depth_of_the_stack_too() -> None:
    raw = json.dumps({"metadata": NAME, "spec": json.loads(nested(100))}).encode()
    raw = raw.replace(b'"a":1', b'"a":' + nested(3_000).encode())

    def below(frames: int) -> None:
        if frames:
            below(frames - 1)
        else:
            assert seen(virtual_machine.KIND, raw).why == ""

    below(500)


def test_brackets_in_texts_are_no_levels() -> None:
    texts = ['"' * 3 + "[" * 500, "\\" * 7 + '"{', "]" * 500, "\\"]
    notes = {f"note-{at}": text for at, text in enumerate(texts)}
    raw = json.dumps({"metadata": {**NAME, "labels": notes}, "spec": {"x": []}}).encode()
    deep = raw.replace(b'"x": []', b'"x":' + nested(3_000).encode())
    decoded = seen(node.KIND, deep)
    assert isinstance(decoded.record, node.Node)
    assert decoded.record.labels == notes


@pytest.mark.parametrize(
    "text", ["[" * 500_000, '"' + '\\"' * 500_000, "[0]," * 250_000, "]" * 500_000, '{"a":' * 200_000]
)
def test_text_of_any_shape_is_cut_in_time_that_grows_with_it(text: str) -> None:
    times = []
    for tried in (text[: len(text) // 8], text):
        begun = time.process_time()
        cut(tried.encode())
        times.append(time.process_time() - begun)
    assert times[1] < 64 * max(times[0], 0.005)  # quadratic: 64


NAD = {
    "cniVersion": "1.0.0",
    "name": "blue",
    "type": "ovn-k8s-cni-overlay",
    "topology": "layer2",
    "subnets": "10.0.0.0/16",
}


def test_a_configuration_is_read_as_deep_as_its_readers_read_it() -> None:
    def read(levels: int) -> network_attachment_definition.NetworkAttachmentDefinition:
        config = json.dumps(NAD | {"netAttachDefName": "ns/a"})[:-1] + ',"x":' + nested(levels) + "}"
        decoded = seen(
            network_attachment_definition.KIND, json.dumps({"metadata": NAME, "spec": {"config": config}}).encode()
        )
        assert isinstance(decoded.record, network_attachment_definition.NetworkAttachmentDefinition)
        return decoded.record

    assert read(5_000) == read(1)
    assert (read(1).readable, read(1).problems) == (True, ())
    assert (read(20_000).readable, read(20_000).problems) == (False, ("BadJson",))
    assert read(800).readable


ANNOTATED = [
    pytest.param(kind, key, fact, written, id=f"{kind.name}-{key}")
    for kind, key, fact, written in (
        (pod.KIND, "k8s.ovn.org/pod-networks", "addresses", {"ns/blue": {"ip_addresses": ["10.0.0.5/16"]}}),
        (pod.KIND, "k8s.v1.cni.cncf.io/networks", "claims", [{"name": "blue", "ipam-claim-reference": "a.blue"}]),
        (pod.KIND, "k8s.v1.cni.cncf.io/networks", "selections", [{"name": "blue", "ipam-claim-reference": "a.blue"}]),
        (pod.KIND, "v1.multus-cni.io/default-network", "claims", [{"name": "blue", "ipam-claim-reference": "a.blue"}]),
        (virtual_machine_instance.KIND, "network.kubevirt.io/addresses", "requested", {"blue": ["10.0.0.5"]}),
    )
]


@each_of(("kind", "key", "fact", "written"), ANNOTATED)
def test_an_annotation_costs_no_more_than_its_own_fact(kind: ApiKind[Any], key: str, fact: str, written: Any) -> None:
    def read(note: Any) -> Any:
        labels = {"kubevirt.io": "virt-launcher"}
        raw = json.dumps({"metadata": {**NAME, "labels": labels, "annotations": {key: note}}}).encode()
        decoded = seen(kind, raw)
        assert decoded.why == ""
        return decoded.record

    text = json.dumps(written)
    assert getattr(read(text), fact)
    assert read(text).unreadable == ()
    bad: tuple[Any, ...] = ("{nonsense", text[:-1], "[[[", "[7]", r'"\ud800"', nested(20_000), 7, {"a": 1}, [], True)
    for unreadable in bad:
        record = read(unreadable)
        (found,) = record.unreadable
        assert (found.annotation, len(found.why) <= 200) == (key, True)
        with pytest.raises(UnreadableFactError, match=f"{kind.name} ns/a: annotation {key} could not be read: "):
            getattr(record, fact)


def test_an_annotation_may_be_nested_where_nobody_reads() -> None:
    networks = '{"ns/blue":{"ip_addresses":["10.0.0.5/16"],"x":' + nested(5_000) + "}}"
    raw = json.dumps({"metadata": {**NAME, "annotations": {"k8s.ovn.org/pod-networks": networks}}}).encode()
    record = seen(pod.KIND, raw).record
    assert isinstance(record, pod.Pod)
    assert record.addresses == (("ns/blue", "10.0.0.5", 16),)


NUMBERS = {
    "address of a pod": (
        pod.KIND,
        {
            "metadata": {
                "annotations": {
                    "k8s.ovn.org/pod-networks": json.dumps({"a/b": {"ip_address": "1.2.3.4/" + "9" * 5000}})
                }
            }
        },
    ),
    "addresses of a claim": (
        ipam_claim.KIND,
        {"status": {"ips": ["1.2.3.4/" + "9" * 5000, "9" * 5000 + ".2.3.4/8", "::1%" + "9" * 5000, "1" * 9000]}},
    ),
    "ranges of a NAD": (
        network_attachment_definition.KIND,
        {
            "spec": {
                "config": json.dumps(
                    NAD
                    | {
                        "subnets": "9" * 5000 + ".0.0.0/8",
                        "excludeSubnets": "1.2.3.4/" + "9" * 5000,
                        "defaultGatewayIPs": "1." * 5000,
                    }
                )
            }
        },
    ),
    "number of a NAD": (
        network_attachment_definition.KIND,
        {"spec": {"config": json.dumps(NAD | {"mtu": 1e300, "vlanID": 10**400, "evpn": {"a": [None] * 9}})}},
    ),
    "quantities of a pod": (
        pod.KIND,
        {
            "spec": {
                "containers": [
                    {"resources": {"requests": {"cpu": "1e999", "memory": 10**300, "x": "1e-999", "y": "9" * 9000}}}
                ]
            }
        },
    ),
    "quantities of a node": (node.KIND, {"status": {"allocatable": {"cpu": "9e99999Ei", "memory": "-1e999"}}}),
    "version": (kube_virt.KIND, {"status": {"observedKubeVirtVersion": "v" + "9" * 5000 + "." + "9" * 5000}}),
    "resourceVersion": (virtual_machine.KIND, {"metadata": {"resourceVersion": "9" * 5000}}),
    "grace period": (virtual_machine_instance.KIND, {"spec": {"terminationGracePeriodSeconds": 2**63 - 1}}),
}


@each_of(("kind", "obj"), NUMBERS.values(), ids=NUMBERS)
def test_a_number_may_be_of_any_length(kind: ApiKind[Any], obj: dict[str, Any]) -> None:
    raw = json.dumps({**obj, "metadata": {**NAME, **obj.get("metadata", {})}}).encode()
    decoded = seen(kind, raw)
    assert decoded.why == ""
    assert decoded.record is not None
    if isinstance(decoded.record, kube_virt.KubeVirt):
        assert decoded.record.release == (0, 0)


@given(st.sampled_from(tuple(KINDS)), st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=4))
def test_any_object(kind: ApiKind[Any], obj: dict[str, Any]) -> None:
    decode(kind, "MODIFIED", json.dumps(obj).encode())


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
