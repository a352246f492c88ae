"""The pages of the checks: what is compiled of them, and that a mistake in one is a sentence that says where it is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from docs.generator.pages import ALERTS, CHECKS, FILE, PageError, compiled
from tests.all_of import each_of
from tests.shared import REPO

PAGE = """\
metrics:
  kubevirt_x:
    help: Something is odd.
reasons:
  Odd:
    title: Oddness
    severity: [warning]
    meaning: It is odd.
    impact: All is lost.
"""
ALERT = """\
note: What is odd.
quiet: [kubevirt_x]
alerts:
  VMOdd:
    by: [name]
    not_paging: It can wait.
    summary: Odd.
    wait: 5m
"""
COMMANDS = "show: kubectl get x NAME\n"


def made(folder: Path, page: str = PAGE, commands: str = COMMANDS, **others: str) -> str:
    """The pages of area `a`, compiled."""
    (folder / "a").mkdir(parents=True, exist_ok=True)
    (folder / "commands.yaml").write_text(commands, encoding="utf-8")
    for name, text in {"odd": page, **others}.items():
        (folder / "a" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return compiled([folder])


def test_the_compiled_file_is_up_to_date() -> None:
    assert (REPO / FILE).read_text(encoding="utf-8") == compiled([CHECKS], [ALERTS]), "run `make generate`"


def test_what_it_is_compiled_by_imports_no_check() -> None:
    code = "import sys, docs.generator.pages; print('exporter.checks' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=REPO, text=True) == "False\n"


def test_a_page_with_all_that_there_may_be(tmp_path: Path) -> None:
    more = """\
    severity: [warning]
    severity_when: Always.
    grace: 1h30m
    lasting: true
    message:
      default: X is odd.
      even: X is {how}.
    meaning: It is odd.
    impact: All is lost.
    next:
      default: Look.
      even: Look at {what}.
    commands: [show, "kubectl get y"]
    alert: VMOdd
    pages: true
    not_paging: It is small.
    met: now
    remediation: [mend, heal]
    cause: network_there
    does: [stop_now]
    forbids:
      acts: [start]
      because: it is odd
      among: namespace
"""
    page = PAGE.replace("    severity: [warning]\n    meaning: It is odd.\n    impact: All is lost.\n", more)
    assert page != PAGE
    alerts = tmp_path / "alerts"
    alerts.mkdir()
    (alerts / "odd.yaml").write_text(ALERT, encoding="utf-8")
    made(tmp_path / "checks", page)
    found = json.loads(compiled([tmp_path / "checks"], [alerts]))
    assert found == {
        "alerts": {"odd": {"VMOdd": {"by": ["name"], "not_paging": "It can wait.", "summary": "Odd.", "wait": "5m"}}},
        "areas": {"odd": {"note": "What is odd.", "quiet": ["kubevirt_x"]}},
        "commands": {"show": "kubectl get x NAME"},
        "metrics": {"kubevirt_x": {"name": "kubevirt_x", "help": "Something is odd."}},
        "reasons": {
            "odd": {
                "Odd": {
                    "title": "Oddness",
                    "severity": ["warning"],
                    "severity_when": "Always.",
                    "metric": "kubevirt_x",
                    "grace": 5400.0,
                    "lasting": True,
                    "meaning": "It is odd.",
                    "message": {"": "X is odd.", "even": "X is {how}."},
                    "impact": "All is lost.",
                    "next": {"": "Look.", "even": "Look at {what}."},
                    "commands": ["show", "kubectl get y"],
                    "alert": "VMOdd",
                    "pages": True,
                    "not_paging": "It is small.",
                    "met": "now",
                    "remediation": ["mend", "heal"],
                    "cause": "NETWORK_THERE",
                    "does": ["STOP_NOW"],
                    "forbids": {"acts": ["START"], "because": "it is odd", "among": "NAMESPACE"},
                }
            }
        },
    }


def test_a_section_may_be_as_that_of_another_page_but_for_what_it_says(tmp_path: Path) -> None:
    given = PAGE + "    next: Look.\n    alert: VMOdd\n    does: [stop]\n"
    other = "reasons:\n  Odd:\n    as: odd\n    severity: [info]\n    alert: null\n    does: []\n"
    found = json.loads(made(tmp_path, given, other=other))["reasons"]["other"]["Odd"]
    assert found == {
        "title": "Oddness",
        "severity": ["info"],
        "metric": "kubevirt_x",
        "meaning": "It is odd.",
        "impact": "All is lost.",
        "next": {"": "Look."},
    }


def test_a_section_may_be_without_variants_of_the_other_page(tmp_path: Path) -> None:
    given = PAGE + "    next:\n      default: Look.\n      even: Look at it.\n      odd: Look twice.\n"
    other = "reasons:\n  Odd:\n    as: odd\n    without: [even]\n"
    found = json.loads(made(tmp_path, given, other=other))["reasons"]
    assert found["other"]["Odd"]["next"] == {"": "Look.", "odd": "Look twice."}
    assert found["odd"]["Odd"]["next"] == {"": "Look.", "even": "Look at it.", "odd": "Look twice."}
    with pytest.raises(PageError, match=r"reasons\.Odd is without evil, which there is not"):
        made(tmp_path / "evil", given, other=other.replace("even", "evil"))


def test_a_family_without_help_has_the_meaning_of_its_reason(tmp_path: Path) -> None:
    found = json.loads(made(tmp_path, PAGE.replace("    help: Something is odd.", "    aged: false")))
    assert found["metrics"]["kubevirt_x"] == {"name": "kubevirt_x", "help": "It is odd.", "aged": False}


ALERT_MISTAKES = {
    "no summary": (ALERT.replace("    summary: Odd.\n", ""), "odd.yaml: alerts.VMOdd has no summary"),
    "unknown key": (
        ALERT + "    says_so: x\n",
        "odd.yaml: alerts.VMOdd has an unknown key says_so: there are by, counted,",
    ),
    "no note": (ALERT.replace("note: What is odd.\n", ""), "odd.yaml has no note"),
    "twice": (ALERT + "    by: [name]\n", "by is there twice"),
}


@each_of("mistake", ALERT_MISTAKES)
def test_a_mistake_in_an_alert_is_named_with_its_file(mistake: str, tmp_path: Path) -> None:
    text, said = ALERT_MISTAKES[mistake]
    (tmp_path / "odd.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(PageError) as error:
        compiled([], [tmp_path])
    assert said in str(error.value)


def replaced(old: str, new: str, page: str = PAGE) -> str:
    assert old in page
    return page.replace(old, new)


_SEVERAL = (
    PAGE
    + """\
  Odder:
    title: Odder
    severity: [info]
    metric: kubevirt_x
    meaning: It is odder.
    impact: All is lost, and more.
"""
)
MISTAKES = {
    "unknown key": (
        PAGE + "    meanings: x\n",
        "reasons.Odd has an unknown key meanings: there are as, without, title, severity,",
    ),
    "unknown part": ("reason: {}\n", "odd.yaml has an unknown key reason: there are metrics, reasons"),
    "order": (
        replaced("    severity: [warning]\n", "", PAGE) + "    severity: [info]\n",
        "reasons.Odd has its keys in another order than title, severity, meaning",
    ),
    "severity": (replaced("warning", "bad"), "reasons.Odd: severity has no 'bad': there are info, warning, critical"),
    "long title": (replaced("Oddness", "x" * 61), "title has to be at most 60"),
    "title with a severity": (
        replaced("Oddness", "A critical thing"),
        "reasons.Odd: title has to be at most 60 characters, without a severity",
    ),
    "field with a format": (
        replaced("    meaning", '    message: "{x:>3}"\n    meaning'),
        "reasons.Odd: message has {x}: a field is a name and nothing else",
    ),
    "field without a name": (
        replaced("    meaning", '    message: "{}"\n    meaning'),
        "reasons.Odd: message has {}: a field is a name and nothing else",
    ),
    "lone brace": (replaced("    meaning", '    message: "{"\n    meaning'), "reasons.Odd: message has braces"),
    "field of every finding": (
        PAGE + '    next: "Look at {what}."\n',
        "reasons.Odd: next has {what} where every finding gets it",
    ),
    "act": (PAGE + "    does: [fly]\n", "reasons.Odd: does has no 'fly': there are start, stop,"),
    "cause": (PAGE + "    cause: fate\n", "reasons.Odd: cause has no 'fate': there are namespace,"),
    "among": (
        PAGE + "    forbids:\n      acts: [start]\n      because: x\n      among: all\n",
        "reasons.Odd.forbids: among has no 'all': there are own, namespace, cluster",
    ),
    "forbids without acts": (PAGE + "    forbids:\n      because: x\n", "reasons.Odd.forbids has no acts"),
    "metric": (replaced("    meaning", "    metric: kubevirt_y\n    meaning"), "metrics.kubevirt_x is of no reason"),
    "metric that no page has": (
        "reasons:\n  Odd:\n    title: X\n    severity: [info]\n    metric: kubevirt_y\n    meaning: x\n    impact: x\n",
        "reasons.Odd has an unknown metric kubevirt_y",
    ),
    "no metric": (
        "reasons:\n  Odd:\n    title: X\n    severity: [info]\n    meaning: x\n    impact: x\n",
        "reasons.Odd has no metric",
    ),
    "no help": (
        replaced("kubevirt_x:\n    help: Something is odd.\n", "kubevirt_x: {}\n", _SEVERAL),
        "metrics.kubevirt_x has no help, and several",
    ),
    "no meaning": (replaced("    meaning: It is odd.\n", ""), "reasons.Odd has no meaning"),
    "no title": (replaced("    title: Oddness\n", ""), "reasons.Odd has no title"),
    "no impact": (replaced("    impact: All is lost.\n", ""), "reasons.Odd has no impact"),
    "no severity": (replaced("    severity: [warning]\n", ""), "reasons.Odd has no severity"),
    "empty": (replaced("It is odd.", '""'), "reasons.Odd: meaning has to be a text"),
    "no section": ("reasons:\n  Odd: x\n", "reasons.Odd has to be a map by names"),
    "grace": (replaced("    meaning", "    grace: 5\n    meaning"), "reasons.Odd: grace 5 has no unit"),
    "flag": (replaced("    meaning", "    lasting: 1\n    meaning"), "reasons.Odd: lasting has to be true or false"),
    "command": (PAGE + "    commands: [shows]\n", "reasons.Odd has an unknown command shows"),
    "command in full": (PAGE + "    commands: [kubectl get x NAME]\n", "reasons.Odd has the command show in full"),
    "command twice": (
        replaced("impact: All is lost.\n", "impact: All is lost.\n    commands: [kubectl y]\n", _SEVERAL)
        + "    commands: [kubectl y]\n",
        "odd.yaml: reasons.Odd: it belongs to commands.yaml, by a name",
    ),
    "as": (PAGE + "  Odder:\n    as: other\n", "reasons.Odder is as that of other, which has none of its own"),
    "without": (
        replaced("    title", "    without: [even]\n    title"),
        "reasons.Odd is without something, and as no other",
    ),
    "null": (PAGE + "    alert: null\n", "reasons.Odd: alert has to be a text"),
    "long line": (PAGE + f"    # {'x' * 120}\n", "odd.yaml: line 10 is longer than 120 characters"),
    "twice": (PAGE + "  Odd: {}\n", "odd.yaml: line 10: Odd is there twice"),
    "no YAML": (PAGE + "  - x\n", "odd.yaml: line 10: "),
}


@each_of("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_file_and_section(mistake: str, tmp_path: Path) -> None:
    page, said = MISTAKES[mistake]
    with pytest.raises(PageError) as error:
        made(tmp_path / mistake.replace(" ", "_"), page)
    assert "\n" not in str(error.value)
    assert "odd.yaml" in str(error.value)
    assert said in str(error.value)


def test_a_check_has_one_page_and_a_family_one_too(tmp_path: Path) -> None:
    with pytest.raises(PageError, match=r"twin\.yaml: metrics\.kubevirt_x is in another page too"):
        made(tmp_path / "one", twin=PAGE)
    (tmp_path / "two/b").mkdir(parents=True)
    (tmp_path / "two/b/odd.yaml").write_text(PAGE, encoding="utf-8")
    with pytest.raises(PageError, match=r"check odd has another page, .*a/odd\.yaml"):
        made(tmp_path / "two")


def test_a_command_is_more_than_a_word(tmp_path: Path) -> None:
    with pytest.raises(PageError, match=r"commands\.yaml: show has to be a command, and its name one word"):
        made(tmp_path, commands="show: kubectl\n")
