"""Each rule finds what it is for."""

from __future__ import annotations

import re

from tests.style.__main__ import counted, hits, pages


def test_each_rule_finds_what_it_is_for() -> None:
    page = """
Nobody looks at of what is broken, and the VM is asked to leave.

It has KubeVirt delete the pod, which is none of ours, and that of the node. {long}
"""
    found = counted(hits({"page.md": page.replace("{long}", " ".join(["word"] * 40) + ".")}))
    assert found["page.md"].keys() == {"Causative", "Field", "Length", "Negation", "Nouns", "People", "Repeat"}


def test_alternatives_of_an_alert_are_sentences_of_their_own() -> None:
    assert not re.search(r"\.NAME", dict(pages())["of/alerts.md"])
