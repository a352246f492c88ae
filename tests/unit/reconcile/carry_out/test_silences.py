"""Silences: matchers as Alertmanager evaluates them, and what is not certain counts as a match."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest

from exporter.facts.record import Ref
from reconcile.carry_out.alertmanager import Silence, alert_labels, read, silenced_by

from ....all_of import each_of
from ....silence_rows import silence

LABELS = alert_labels(
    "VMIPAMClaimLeftBehind", "ipam_claims", "OrphanClaim", Ref("IPAMClaim", "shop", "db.blue", "u"), "db"
)
KNOWN = {**LABELS, "cluster": ("prod",)}


def matched(*silences: dict[str, Any], labels: Any = None) -> Silence | None:
    return silenced_by(read(json.dumps(silences).encode()), LABELS if labels is None else labels)


@each_of(
    ("matcher", "matches"),
    [
        (("alertname", "=", "VMIPAMClaimLeftBehind"), True),
        (("alertname", "=", "VMIPAMClaim"), False),
        (("alertname", "=", "vmipamclaimleftbehind"), False),
        (("alertname", "=~", "VMIPAMClaim.*"), True),
        (("alertname", "=~", "IPAMClaim"), False),  # the whole value
        (("alertname", "=~", "VM|KubeVirt.*"), False),
        (("alertname", "=~", "KubeVirt.*|VMIPAM.*|Node.*|Host.*|Pod.*|Etcd.*"), True),
        (("alertname", "=~", "(?i)vmipamclaimleftbehind"), True),
        (("alertname", "=~", "(?i:vmipam)Claim(?:LeftBehind)?"), True),
        (("alertname", "=~", r"VM\w+"), True),
        (("alertname", "=~", ""), False),
        (("alertname", "!=", "VMIPAMClaimLeftBehind"), False),
        (("alertname", "!=", "Other"), True),
        (("alertname", "!~", "VM.*"), False),
        (("alertname", "!~", "Node.*"), True),
        (("namespace", "=", "shop"), True),
        (("namespace", "=", "shop2"), False),
        (("namespace", "!=", "shop"), False),
        (("namespace", "!=", "kube-system"), True),
        (("namespace", "=~", "shop|bank"), True),
        (("namespace", "!~", "shop|bank"), False),
        (("name", "=", "db.blue"), True),
        (("name", "=~", "db.red"), False),
        (("kubernetes_operator_part_of", "=", "kubevirt"), True),
        (("severity", "=", "warning"), True),
        (("severity", "=~", "warning|critical"), True),
        (("severity", "=", "info"), False),
        (("severity", "=", "none"), False),
        # What the rules may have dropped may have either value.
        (("vm", "=", "db"), True),
        (("vm", "=", ""), True),
        (("vm", "=", "web"), False),
        (("vm", "!=", "db"), True),
        # What they never have is empty.
        (("instance", "=", "node1:9100"), False),
        (("pod", "=~", ".+"), False),
        (("job", "=", ""), True),
        (("job", "!=", "node"), True),
        # What is known of no label can't be excluded.
        (("cluster", "=", "prod"), True),
        (("cluster", "!~", ".*"), True),
        # What RE2 and Python read differently, or what may take too long, counts as a match.
        (("namespace", "=~", "[[:alpha:]]x"), True),
        (("namespace", "=~", r"\pL"), True),
        (("namespace", "=~", r"\Qx\E"), True),
        (("namespace", "=~", "(?U)x"), True),
        (("namespace", "=~", "x{,2}"), True),
        (("namespace", "=~", "(x+)+y"), True),
        (("namespace", "=~", ".*a.*b.*c.*d"), True),
        (("namespace", "=~", "x" * 20_000), True),
        (("namespace", "=~", "("), True),
        (("namespace", "=~", "[[a]"), True),
    ],
)
def test_a_matcher(matcher: tuple[str, str, str], matches: bool) -> None:
    assert (matched(silence(matcher)) is not None) == matches


def test_all_matchers_of_one_silence_must_match_and_one_silence_is_enough() -> None:
    shop, other = ("namespace", "=", "shop"), ("alertname", "=", "Other")
    assert matched(silence(shop, other)) is None
    found = matched(silence(shop, other), silence(other), silence(shop))
    assert str(found) == '"8f1c" by "ann" until "2026-05-28T22:00:00.000Z": "works"'
    assert matched() is None


@pytest.mark.parametrize(
    ("pattern", "matches"), [(r"gr\w\we", False), (r"gr.+e", True), (r"\d+", False), (r"gr\W+e", True)]
)
def test_classes_of_characters_are_those_of_ascii(pattern: str, matches: bool) -> None:
    assert (matched(silence(("word", "=~", pattern)), labels={"word": ("größe",)}) is not None) == matches


def test_a_label_that_prometheus_adds_is_evaluated_once_it_is_known() -> None:
    assert matched(silence(("cluster", "=", "test")), labels=KNOWN) is None
    assert matched(silence(("cluster", "=", "prod")), labels=KNOWN) is not None


@pytest.mark.parametrize(("state", "counts"), [("active", True), ("pending", False), ("expired", False), ("x", True)])
def test_only_what_is_surely_not_active_is_left_out(state: str, counts: bool) -> None:
    assert (matched(silence(("namespace", "=", "shop"), state=state)) is not None) == counts


def test_a_matcher_of_before_0_22_has_no_isequal_and_is_equal() -> None:
    old = silence(("namespace", "=", "shop"))
    del old["matchers"][0]["isEqual"]
    assert matched(old) is not None
    old["matchers"][0]["value"] = "bank"
    assert matched(old) is None


@each_of("content", [b"", b"{}", b"null", b"[{}]", b"[1]", b'[{"id":1}]', b"<html>", b"\xff"])
def test_anything_else_than_silences_is_refused(content: bytes) -> None:
    with pytest.raises((msgspec.DecodeError, UnicodeError)):
        read(content)


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "a*a*a*a*a*a*a*b", "(a*|x)(a*|y)(a*|z)(a*|z)b", "a*a*a*b"])
def test_no_expression_of_others_holds_us_up(pattern: str) -> None:
    labels = {"name": ("a" * 253,)}
    started = time.process_time()
    matched(silence(("name", "=~", pattern)), labels=labels)
    assert time.process_time() - started < 2


def test_a_finding_without_an_alert_is_silenced_by_its_namespace() -> None:
    labels = alert_labels("", "c", "R", Ref("VirtualMachine", "shop", "db"), "db")
    assert matched(silence(("namespace", "=", "shop")), labels=labels) is not None
    assert matched(silence(("alertname", "=~", ".+")), labels=labels) is None
