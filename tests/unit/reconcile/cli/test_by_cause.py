"""Findings stand in the order in which page and command line have their causes."""

from __future__ import annotations

import pytest

from exporter.facts.record import Ref
from reconcile.carry_out.finding_source import Observed
from reconcile.cli.several import in_order, of_cause
from reconcile.decide.repair import Found, Hint


def found(name: str, cause: str, severity: str = "warning", vm: str = "", since: float | None = None) -> Found:
    subject = Ref("IPAMClaim", "shop", name, "u")
    return Found(Hint("ipam_claims", "OrphanClaim", subject, f"f-{name}"), severity, "", vm, since, cause=cause)


def order(*findings: Found) -> list[str]:
    return [each.hint.subject.name for each in in_order(findings)]


def test_the_worst_cause_comes_first_then_that_of_most_vms_then_the_oldest() -> None:
    findings = (
        found("young", "c1", vm="a", since=9.0),
        found("old", "c2", vm="a", since=3.0),
        found("undated", "c3", vm="a"),
        found("two-b", "c4", vm="b"),
        found("two-a", "c4", vm="a"),
        found("same-vm", "c5", vm="a", since=5.0),
        found("same-vm-again", "c5", vm="a", since=5.0),
        found("grave", "c6", "critical"),
        found("mild-of-grave", "c6", "info"),
        found("foreign", "c7", "fatal"),
    )
    wanted = ["grave", "mild-of-grave", "two-a", "two-b", "old", "same-vm", "same-vm-again", "young", "undated"]
    assert order(*findings) == [*wanted, "foreign"]
    assert order(*reversed(findings)) == [*wanted, "foreign"]


def test_findings_without_a_cause_are_each_by_itself() -> None:
    assert order(found("b", "", vm="b", since=2.0), found("a", "", vm="a", since=3.0)) == ["b", "a"]


def test_a_cause_is_named_by_its_first_digits_if_nothing_else_is() -> None:
    observed = Observed((found("b", "3f9c"), found("a", "3f9c"), found("c", "3e00"), found("d", "f-")))
    assert [each.hint.subject.name for each in of_cause(observed, "3f")] == ["a", "b"]
    assert of_cause(observed, "77") == []
    assert of_cause(observed, "") == []
    with pytest.raises(ValueError, match=r"2 causes and 0 findings have IDs that begin with 3\. Give more"):
        of_cause(observed, "3")
    with pytest.raises(ValueError, match="1 cause and 4 findings have IDs"):
        of_cause(observed, "f-")
