"""What to do about a finding: its next step, its commands with the names filled in, and its runbook.

One source for every surface. A command stands in the runbook of its alert to the letter, with words in capitals for
names; here they get the finding's values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from ..findings import Finding
from .base import Reason

__all__ = ["RUNBOOKS", "advised", "filled", "values_of"]

RUNBOOKS = "https://github.com/kubevirt-steward/kubevirt-steward/blob/main/rules/runbooks/"
_WORD = re.compile(r"\b[A-Z][A-Z0-9]+\b")
_PLAIN = re.compile(r"[\w.:/@%+-]+")  # what no shell and no JSON reads anything into


def advised(finding: Finding, reason: Reason) -> Finding:
    """The finding with `next`, `commands` and `runbook`; what the check has set itself stays."""
    values = values_of(finding)
    return msgspec.structs.replace(
        finding,
        next=finding.next or filled(reason.next, values),
        commands=finding.commands or tuple(filled(each, values) for each in reason.commands),
        runbook=f"{RUNBOOKS}{reason.alert}.md" if reason.alert else "",
    )


def values_of(finding: Finding) -> dict[str, str]:
    """What stands for the words in capitals: of the subject, the node, the network, and each text in the
    evidence by its key."""
    subject = finding.subject
    vm = subject.name if subject.kind in ("VirtualMachine", "VirtualMachineInstance") else ""
    values = {key.upper(): value for key, value in finding.evidence.items() if isinstance(value, str)}
    values |= {"NAMESPACE": subject.namespace, "NAME": subject.name, "UID": subject.uid}
    values |= {"NODE": finding.node, "NETWORK": finding.network}
    return values | ({"VMNAME": vm} if vm else {})


def filled(template: str, values: Mapping[str, str]) -> str:
    """The text with its words in capitals replaced by values; a value that a shell could read something into is not
    put in, so that a hostile name can't become a command."""

    def value(match: re.Match[str]) -> str:
        found = values.get(match[0], "")
        return found if _PLAIN.fullmatch(found) else match[0]

    return _WORD.sub(value, template)
