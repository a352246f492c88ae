"""The reasons of a check, from what is compiled of its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.domain.acts import Act, Among, Forbids
from exporter.findings.causes import Cause
from exporter.findings.check import Family, Reason
from exporter.findings.pages import Texts, command, reasons_of
from exporter.findings.severity import Severity
from tests.pages import known_pages

PAGE = """\
metrics:
  kubevirt_odd:
    help: Something is odd.
    aged: false
reasons:
  Odd:
    title: Oddness
    severity: [warning, critical]
    severity_when: Critical if it is very odd, otherwise warning.
    grace: 90s
    lasting: true
    message:
      default: X is odd.
      even: X is {how}.
    meaning: It is odd.
    impact: All is lost.
    next:
      default: Look.
      even: Look at {what}.
    commands:
      - show_vm
      - kubectl get odd NAME
    alert: VMOdd
    remediation: mend_odd
    cause: network_there
    does: [stop_now, delete]
    forbids:
      acts: [start]
      because: it is odd
      among: cluster

  Plain:
    title: Plainness
    severity: [info]
    meaning: It is plain.
    impact: Nothing is lost.
"""


def test_a_reason_is_what_its_section_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd.yaml").write_text(PAGE, encoding="utf-8")
    known_pages(monkeypatch, tmp_path)
    family = Family("kubevirt_odd", "Something is odd.", aged=False)
    assert reasons_of("odd") == {
        "Odd": Reason(
            (Severity.WARNING, Severity.CRITICAL),
            "It is odd.",
            family,
            title="Oddness",
            severity_when="Critical if it is very odd, otherwise warning.",
            impact="All is lost.",
            grace=90.0,
            lasting=True,
            next="Look.",
            commands=(command("show_vm"), "kubectl get odd NAME"),
            alert="VMOdd",
            remediation="mend_odd",
            cause=Cause.NETWORK_THERE,
            does=(Act.STOP_NOW, Act.DELETE),
            forbids=Forbids((Act.START,), "it is odd", Among.CLUSTER),
        ),
        "Plain": Reason((Severity.INFO,), "It is plain.", family, title="Plainness", impact="Nothing is lost."),
    }
    texts = Texts("odd")
    assert texts.message("Odd") == "X is odd."
    assert texts.message("Odd", "even", how="even {odder}") == "X is even {odder}."
    assert texts.next("Odd", "even", what="y") == "Look at y."
    with pytest.raises(KeyError, match="how"):
        texts.message("Odd", "even")
    assert command("show_vm") == "kubectl get virtualmachines.kubevirt.io -n NAMESPACE NAME -o yaml"


def test_a_check_without_a_page_is_told_to_write_one() -> None:
    with pytest.raises(LookupError, match=r"write odd\.yaml beside it, then `make generate`"):
        reasons_of("odd")
