"""YAML written by Go or Python is read as it was meant, and only its wanted fields."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from exporter.offline.documents import DumpedObject, objects
from exporter.offline.wanted import Wanted
from exporter.offline.yaml_events import YamlError, documents
from tests.all_of import each_of
from tests.amounts import examples
from tests.evaluation import api_kinds

WANTED = Wanted(api_kinds().values())
WORDS = st.sampled_from(
    ["a", "name", "true", "on", "1", "0x1f", "1.5", "null", "~", "", "<", "- a", "#", "a: b", "=", "|"]
)
TEXT = st.one_of(
    WORDS, st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\ufeff"), max_size=12)
)
LINES = st.lists(TEXT, max_size=3).map("\n".join)
TREE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**62), 2**62), LINES),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=20,
)


def whole(text: str) -> list[Any]:
    return documents(text.encode(), lambda *_: None)


@examples(suppress_health_check=[HealthCheck.too_slow])
@given(tree=TREE, flow=st.sampled_from([None, True, False]), width=st.sampled_from([20, 80]))
def test_a_dumped_tree_is_read_back(tree: Any, flow: bool | None, width: int) -> None:
    text = yaml.dump([tree, tree], Dumper=yaml.SafeDumper, default_flow_style=flow, width=width, allow_unicode=True)
    assert whole(text) == [[tree, tree]]


@examples(suppress_health_check=[HealthCheck.too_slow])
@given(
    junk=st.dictionaries(TEXT, TREE, max_size=4),
    labels=st.dictionaries(TEXT, LINES, max_size=4),
    width=st.sampled_from([20, 80]),
    shared=st.booleans(),
)
def test_skipped_fields_change_no_other_field(
    junk: dict[str, Any], labels: dict[str, str], width: int, shared: bool
) -> None:
    labels = {**labels, "kubevirt.io/vm": "db"}
    spec = {"zzz": junk, "network": "blue", "labels": labels if shared else {}}
    meta = {"aaa": junk, "name": "db.blue", "namespace": "ns", "labels": labels, "annotations": junk}
    thing = {"apiVersion": "k8s.cni.cncf.io/v1alpha1", "kind": "IPAMClaim", "metadata": meta, "spec": spec}
    listed = {"apiVersion": "v1", "items": [thing, {**thing, "kind": "Other"}, thing], "kind": "List"}
    dumped = yaml.dump(listed, Dumper=yaml.SafeDumper, width=width, allow_unicode=True)
    kind = api_kinds()["IPAMClaim"]

    found = [each for each in objects(dumped.encode(), WANTED) if isinstance(each, DumpedObject)]
    wanted = msgspec.convert(thing, kind.wire)
    assert [msgspec.json.decode(each.raw, type=kind.wire) for each in found if each.kind == kind.name] == [wanted] * 2


@each_of(
    ("text", "value"),
    [
        ("2026-11-21T17:30:00Z", "2026-11-21T17:30:00Z"),
        ("2026-11-21", "2026-11-21"),
        ("52:54:00:12:34:56", "52:54:00:12:34:56"),
        ("=", "="),
        ("0o17", "0o17"),
        ("0", 0),
        ("0b11", 3),
        ("y", "y"),
        ("017", 15),
        ("-0x1F", -31),
        ("089", "089"),
        ("1e3", "1e3"),
        ("1.5e+3", 1500.0),
        (".5", 0.5),
        ("1.2.3.4", "1.2.3.4"),
        ("12345678901234567890123", 12345678901234567890123.0),
        ("-1000000000000000001", -1000000000000000001),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
        ("9" * 5000, "9" * 5000),
        ("!!str 1", "1"),
        ("! on", "on"),
        ("'1'", "1"),
        ("off", False),
        ("-", [None]),
        ("{1: 2, true: 3}", {"1": 2, "true": 3}),
        ("a: &x {b: 1}\nc: {<<: *x, d: 2}", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}),
        ("a: &x {b: 1}\nc: {<<: [{b: 3}, *x], b: 2}", {"a": {"b": 1}, "c": {"b": 2}}),
    ],
)
def test_a_plain_scalar_is_a_string_unless_both_go_and_python_would_quote_it(text: str, value: Any) -> None:
    assert whole(text) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a]",
        "a: *b",
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(9)),
        "[" * 300_000,
        "{a: " * 5_000,
    ],
)
def test_bombs_and_cycles_are_refused(text: str) -> None:
    with pytest.raises(YamlError):
        whole(text)


def test_objects_in_flow_style_and_after_comments_are_found() -> None:
    texts = {
        "# a comment\n---\n# and one more\n{apiVersion: v1, kind: Pod}\n": 1,
        "{\napiVersion: v1,\nkind: List, items: [{apiVersion: v1, kind: Pod}, {\nkind: Pod,\napiVersion: v1}]}": 2,
        "%YAML 1.1\n---\napiVersion: v1\nkind: Pod\n...\n---\napiVersion: v1\nkind: Pod\n": 2,
        "---\n---\n--- # nothing\n...\n": 0,
        "\ufeffapiVersion: v1\r\nkind: Pod\r\n---\r\napiVersion: v1\r\nkind: Pod\r\n": 2,
        '[{"apiVersion":"v1","kind":"Pod"}, 7, "text"]': 1,
        "{'apiVersion': v1, 'kind': Pod}": 1,
        "7": 0,
    }
    for text, count in texts.items():
        found = list(objects(text.encode(), WANTED))
        assert [each.kind for each in found if isinstance(each, DumpedObject)] == ["Pod"] * count, text
        assert all(not hasattr(each, "why") for each in found), found
