"""What to do about a finding: its next step, its commands with the names filled in, its runbook and its remediation.

One source for every surface. A command stands in the runbook of its alert to the letter, with words in capitals for
names; here they get the finding's values.
"""

from __future__ import annotations

import msgspec

from ..runbook import link
from ..store.text.placeholders import filled
from .check import Reason
from .finding import Finding

__all__ = ["advised", "filled", "values_of"]


def advised(finding: Finding, reason: Reason) -> Finding:
    """The finding with all that its reason declares of advice; what the check has set itself stays."""
    values = values_of(finding)
    return msgspec.structs.replace(
        finding,
        next=finding.next or filled(reason.next, values),
        commands=finding.commands or tuple(filled(each, values) for each in reason.commands),
        runbook=link(reason.alert, finding.reason),
        remediation=finding.remediation or reason.remediation or None,
        does=reason.does if finding.does is None else finding.does,
        forbids=reason.forbids if finding.forbids is None else finding.forbids,
    )


def values_of(finding: Finding) -> dict[str, str]:
    """What stands for the words in capitals: of the subject, node, network, and texts in the evidence by key.

    Not a UUID: it is shown in the evidence only, and UUID is a word of sentences.
    """
    subject = finding.subject
    texts = ((key.upper(), value) for key, value in finding.evidence.items() if isinstance(value, str))
    values = {key: value for key, value in texts if key != "UUID"}
    values |= {"NAMESPACE": subject.namespace, "NAME": subject.name, "UID": subject.uid}
    values |= {"NODE": finding.node, "NETWORK": finding.network}
    return values | ({"VMNAME": finding.vm} if finding.vm else {})
