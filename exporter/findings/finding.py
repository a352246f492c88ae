"""Findings: one thing wrong with one object now, with its evidence. Independent of how they are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from itertools import islice
from typing import Any, Protocol

import msgspec

from ..domain.acts import Act, Forbids
from ..facts.naming import NAMED, sentence
from ..facts.record import Ref
from ..facts.times import Since
from .severity import Severity

__all__ = ["Finding", "Since", "Unknown", "fingerprint", "to_change"]


class Finding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a check yields; `check`, `fingerprint`, `cause` (an id), `runbook`, and `since` where the check knows none,
    are filled in.

    `next` is one sentence and `commands` are for a shell, with their names filled in: by the check, or else by what
    its reason says; so are `does`, what they do to the VM, and `forbids`, what must not be done to it meanwhile.
    `unknown` says why the finding may be old; empty while it is not. `vm` is the name of the one VM that it is about:
    of a subject that is a VM or VMI it is filled in, of any other the check gives it. `cluster` is the name of the
    subject's cluster, where several are compared.

    The message is a sentence about the subject by a noun; it gets its full stop here, so that texts can be joined.
    It is short, whatever the objects hold: long texts are cut, `related` and each list of the evidence name a few, and
    `<name>InAll` says how many the list would have.
    """

    reason: str
    severity: Severity
    subject: Ref
    message: str
    check: str = ""
    related: tuple[Ref, ...] = ()
    vm: str = ""
    node: str = ""
    feature: str = ""
    network: str = ""
    since: float | None = None  # seconds since 1970
    since_source: Since = Since.FIRST_SEEN
    evidence: Mapping[str, Any] = {}
    group: str = ""
    fingerprint: str = ""
    cause: str = ""
    next: str = ""
    commands: tuple[str, ...] = ()
    runbook: str = ""
    unknown: str = ""
    remediation: str | None = None
    cluster: str = ""
    does: tuple[Act, ...] | None = None
    forbids: Forbids | None = None

    def __post_init__(self) -> None:
        if not self.vm and self.subject.kind in VMS:
            msgspec.structs.force_setattr(self, "vm", self.subject.name)
        if len(self.message) > _LONGEST or self.message != sentence(self.message):
            msgspec.structs.force_setattr(self, "message", _cut(sentence(self.message)))
        if len(self.related) > NAMED:
            msgspec.structs.force_setattr(self, "related", self.related[:NAMED])
        if any(map(_long, self.evidence.values())):
            msgspec.structs.force_setattr(self, "evidence", dict(_few(self.evidence)))


VMS = ("VirtualMachine", "VirtualMachineInstance")
_LONGEST = 1000  # characters of a text


def _long(fact: Any) -> bool:
    if isinstance(fact, str):
        return len(fact) > _LONGEST
    return isinstance(fact, list | tuple | dict) and len(fact) > NAMED


def _few(evidence: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Whoever makes an object may make its lists as long as they like; what is left out is counted."""
    for name, fact in evidence.items():
        if isinstance(fact, str):
            yield name, _cut(fact)
        elif _long(fact):
            yield name, dict(islice(fact.items(), NAMED)) if isinstance(fact, dict) else fact[:NAMED]
            yield f"{name}InAll", len(fact)
        else:
            yield name, fact


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class _Shared(Protocol):
    """A finding, also as it is reported."""

    @property
    def subject(self) -> Ref: ...
    @property
    def evidence(self) -> Mapping[str, Any]: ...


def to_change(finding: _Shared) -> bool:
    """Whether it is about the one of several objects with one value that gets another: `keeper` of the evidence, a
    namespace and a name, is the one that keeps the value. What is said of all of them is the advice of this one.
    """
    keeper = finding.evidence.get("keeper")
    return bool(keeper) and keeper != finding.subject.path


def keeps(finding: _Shared) -> bool:
    """Whether it is about the one that keeps the value: the acts of its advice and its runbook are for another one."""
    return finding.evidence.get("keeper") == finding.subject.path


class Unknown(msgspec.Struct, frozen=True, order=True):
    """A check has no answer for a partition: a namespace, or the whole cluster if it is empty.

    `cluster` is the name of the dump, if there are several.
    """

    check: str
    partition: str
    why: str
    cluster: str = ""


def fingerprint(check: str, finding: Finding) -> str:
    """16 hex digits; the same over restarts for the same check, reason, subject and group.

    An object may belong to two groups at once: to one by its present value, to another by that of its next start.
    """
    subject = finding.subject
    identity = subject.uid or f"{subject.kind}/{subject.path}"
    if finding.group:
        identity = f"{identity}\0{finding.group}"
    return blake2b(f"{check}\0{finding.reason}\0{identity}".encode(), digest_size=8).hexdigest()
