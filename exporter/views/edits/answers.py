"""What the answer to a dry-run edit means, and whether it is the expected one.

A refusal at admission is known by its text and not by its status: it may be 400, 403, 422, or 500 for a call that
KubeVirt passes on. What is no refusal, a timeout included, says nothing of the VM.
"""

from __future__ import annotations

import re
from enum import StrEnum

from ...domain.features.releases import ASSUME
from .expected import Expected
from .report import EditProbed


class EditAnswer(StrEnum):
    TAKEN = "taken"
    REFUSED = "refused"  # at admission
    FORBIDDEN = "forbidden"  # our ServiceAccount may not ask
    GONE = "gone"
    UNCLEAR = "unclear"  # no answer, or one that says nothing of the VM


_REFUSALS = ("denied the request", "denied request")  # of a webhook, and of a ValidatingAdmissionPolicy
_WHO = re.compile(r"""(?:admission webhook|ValidatingAdmissionPolicy) ["']([^"']{1,253})["']""")
_GATE = "feature gate"  # in whatever KubeVirt refuses for the sake of one
_OURS = "kubevirt.io"
_LONGEST = 300  # characters of an answer that are shown


def probed(expected: Expected, code: int, text: str) -> EditProbed:
    """`code` is 0 where there was no answer; `text` says why then."""
    said = _said(code, text)
    differs, contradicts, advice = False, False, ""
    if said in (EditAnswer.TAKEN, EditAnswer.REFUSED):
        differs, contradicts, advice = _compared(expected, said, text)
    return EditProbed(
        expected.vm,
        "refused" if expected.refused else "taken",
        tuple(rule.id for rule in expected.refusing),
        said.value,
        f"{code or ''} {text}".strip()[:_LONGEST],
        differs,
        contradicts,
        advice,
    )


def _said(code: int, text: str) -> EditAnswer:
    if code >= 400 and any(each in text for each in _REFUSALS):
        return EditAnswer.REFUSED
    if 200 <= code < 300:
        return EditAnswer.TAKEN
    return {403: EditAnswer.FORBIDDEN, 404: EditAnswer.GONE}.get(code, EditAnswer.UNCLEAR)


def _compared(expected: Expected, said: EditAnswer, text: str) -> tuple[bool, bool, str]:
    """Whether it differs from what is expected, whether it contradicts it, and what to do about that."""
    report = (
        f"Report it with the VM and the KubeVirt object, or set {ASSUME} if this is no build of {expected.version}."
    )
    if said is EditAnswer.TAKEN:
        return expected.refused, expected.refused, report if expected.refused else ""
    if expected.refused:
        texts = [rule.message for rule in expected.refusing if rule.message]
        if not texts or any(each in text for each in texts):
            return False, False, ""
        return True, False, f"It is refused for another reason than expected. {report}"
    if _GATE in text or any(rule.message and rule.message in text for rule in expected.asked):
        return True, True, report
    return True, False, _other(text)


def _other(text: str) -> str:
    who = _WHO.search(text)
    name = who[1] if who is not None else "a webhook"
    if not name.endswith(_OURS):
        return f"{name} refuses it, which is none of KubeVirt's: what features ask for is not known from that."
    return "It is refused for what is no feature that is known here; report it if it is one."
