"""What a difference means for its subject: whether it breaks by it, and when somebody meets that."""

from __future__ import annotations

from enum import StrEnum

from ...engine.preview import PreviewedChange
from ...facts.record import Ref
from ...facts.rule import Stage
from ...findings.finding import Finding
from ...findings.severity import Severity
from ...store.cluster import Cluster
from ...store.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance


class SubjectOutcome(StrEnum):
    """What a change means for the subject of a finding, the worst first."""

    BREAKS = "breaks"
    WORSE = "worse"
    SAFE = "safe"
    OTHER = "other"


TITLES = {
    SubjectOutcome.BREAKS: "Breaks",
    SubjectOutcome.WORSE: "Worse in another way",
    SubjectOutcome.SAFE: "Backed by a revision, and safe",
    SubjectOutcome.OTHER: "Different, and no worse",
}
_SAVED = "SnapshotObjectMissing"  # though its VM has a copy, no other can be restored from it any more
# Of a VM or pool whose object is gone: none has a copy of it, or one has.
_BREAKING = ("ObjectMissing", "PoolObjectMissing", _SAVED)
_BACKED = ("ObjectGone",)

_NOW, _EDIT, _START = "now", "at the next edit", "at its next start"
_IGNORED = (Stage.LIVE, Stage.OBJECT)  # such a feature is left out, and the VM runs without it
_OF_EDITS = (Stage.ADMISSION, Stage.EDIT)
_HALTED = ("StoppedRequestsDisabled",)
_LATER = ("BreaksAtUpgrade",)  # not by the change: by what is under way beside it


def outcome_of(difference: PreviewedChange) -> SubjectOutcome:
    finding, reason = difference.finding, difference.finding.reason
    if finding.feature and _met(difference):
        return SubjectOutcome.BREAKS if _breaks(difference) else _by_severity(difference)
    if difference.worse or (reason == _SAVED and difference.before is None):
        return SubjectOutcome.BREAKS if reason in _BREAKING else SubjectOutcome.WORSE
    return SubjectOutcome.SAFE if reason in _BACKED and difference.before is None else SubjectOutcome.OTHER


def _met(difference: PreviewedChange) -> str:
    return difference.check.reasons[difference.finding.reason].met


def _by_severity(difference: PreviewedChange) -> SubjectOutcome:
    return SubjectOutcome.WORSE if difference.worse else SubjectOutcome.OTHER


def _breaks(difference: PreviewedChange) -> bool:
    """Something that only informs does not break, but for a halted VM that will not start: nobody needs it now."""
    before, after = difference.before, difference.after
    if after is None or after.reason in _LATER or _ignored(after):
        return False
    if after.severity is Severity.INFO and after.reason not in _HALTED:
        return False
    return before is None or after.severity.rank > before.severity.rank


def _ignored(finding: Finding) -> bool:
    return finding.evidence.get("stage") in _IGNORED and finding.severity is not Severity.CRITICAL


def when(cluster: Cluster, difference: PreviewedChange) -> str:
    """When somebody meets it, where that is known; empty for what is not worse."""
    finding, outcome = difference.finding, outcome_of(difference)
    if difference.after is None:
        # What waits for it starts by itself once it is allowed.
        return "now: it starts by itself" if finding.feature and finding.reason == "StartBlocked" else ""
    if finding.feature and (met := _met(difference)):
        return _meets(cluster, finding, met)
    return _gone(cluster, finding.subject) if outcome is SubjectOutcome.BREAKS else ""


def _meets(cluster: Cluster, finding: Finding, met: str) -> str:
    if _ignored(finding):
        return _NOW
    if finding.reason == "StoppedRequestsDisabled" and finding.evidence.get("stage") in _OF_EDITS:
        return _EDIT  # and its start is one
    if finding.reason == "NoNodeSupports" and _pending(cluster, finding.subject):
        return _NOW
    return met


def _pending(cluster: Cluster, subject: Ref) -> bool:
    vmi = cluster.get(VirtualMachineInstance, subject.namespace, subject.name)
    return vmi is not None and vmi.phase in PENDING


def _gone(cluster: Cluster, subject: Ref) -> str:
    """Of an object that is gone."""
    if subject.kind == "VirtualMachineSnapshotContent":
        return "when a VM is restored from it"
    if subject.kind != "VirtualMachine":
        return "when it creates its next VM"
    running = cluster.get(VirtualMachineInstance, subject.namespace, subject.name) is not None
    return "when virt-controller next reconciles it" if running else _START


def answer_of(difference: PreviewedChange) -> str:
    """KubeVirt's own words for it, where they are known; empty for what goes."""
    facts = difference.finding.evidence
    return str(facts.get("condition") or facts.get("answer") or "") if difference.after is not None else ""
