"""The annotations of ours, and how they are read: whoever may write an object fills them as they like."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

PREFIX = "steward.kubevirt-steward.io/"
PAUSED = f"{PREFIX}paused"  # on a VM, any other object, a Namespace, or the Lease: nothing is written there
RESUMED = f"{PREFIX}resumed-at"  # what happened before does not count any more; on the Lease also with a remediation
APPROVED_PLAN = f"{PREFIX}approved-plan"
ACCEPT = f"{PREFIX}accept-ledger"  # on the Lease: the ledger is taken as it is


APPROVALS = "steward-approvals"
"""The policy by which the API server lets only those set some of these who may, under their own name."""
_GIVEN = " (as given)"


def said_by(name: str, *, authorized: bool) -> str:
    """A name out of an annotation; `authorized` is whether the API server saw to it that it is that of who wrote it."""
    return name if authorized or not name else f"{name}{_GIVEN}"


def annotations_of(whole: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Those of an object as the API server has it; None where they can't be read."""
    metadata = whole.get("metadata") if isinstance(whole, Mapping) else None
    if not isinstance(metadata, Mapping):
        return None
    found = metadata.get("annotations")
    return {} if found is None else found if isinstance(found, Mapping) else None


def paused_by(annotations: Mapping[str, Any]) -> str | None:
    """What the annotation says where there is one that pauses: any value but "false", the empty one too."""
    if PAUSED not in annotations or annotations[PAUSED] == "false":
        return None
    return str(annotations[PAUSED])


def resumes(remediation: str) -> str:
    """The annotation of the Lease that resumes a remediation: a time, and after it by whom and why."""
    return f"{RESUMED}-{remediation}"


def resumed_at(annotations: Mapping[str, Any], annotation: str = RESUMED) -> float | None:
    """When a person resumed it, in seconds since 1970; None where nobody did, or no such time can be read."""
    text = annotations.get(annotation)
    try:
        moment = datetime.fromisoformat(text.partition(" ")[0]) if isinstance(text, str) else None
        return moment.timestamp() if moment is not None and moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def resumed_by(annotations: Mapping[str, Any], annotation: str) -> tuple[str, str]:
    """Who resumed it and what they said, each empty where the annotation does not tell."""
    text = annotations.get(annotation)
    who, _, because = text.partition(" by ")[2].partition(": ") if isinstance(text, str) else ("", "", "")
    return who.strip(), because.strip()
