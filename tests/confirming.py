"""The objects of a test as the API server would give them, and findings of them to confirm."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from exporter.checks import all_checks
from exporter.facts.record import Ref
from exporter.findings.finding import Finding, fingerprint
from exporter.findings.severity import Severity
from exporter.kube.errors import AbsentError, StatusError
from exporter.store.kind import ApiKind
from reconcile.carry_out.confirm import Confirmed, confirm
from reconcile.decide.repair import Hint
from reconcile.plan.plan import Refused
from reconcile.plan.remediation import Remediation
from tests.evaluation import NOW

__all__ = ["MemoryReads", "confirmed", "hint_of"]


class MemoryReads:
    """Reads objects out of memory. `fails` has the HTTP status that reads of a kind end with, `absent` kinds that are
    not served; `asked` is what was read, in order.
    """

    def __init__(
        self, objects: Iterable[dict[str, Any]], fails: Mapping[str, int] | None = None, absent: Iterable[str] = ()
    ) -> None:
        self.objects = list(objects)
        self.fails, self.absent = fails or {}, tuple(absent)
        self.asked: list[tuple[str, str | None, str | None]] = []

    async def served(self, kind: ApiKind[Any]) -> str:
        if kind.name in self.absent:
            raise AbsentError(f"the cluster does not serve {kind.resource}")
        return kind.versions[0]

    async def get(self, kind: ApiKind[Any], version: str, namespace: str, name: str) -> bytes | None:
        found = [each for each in self._of(kind, namespace, name) if each["metadata"]["name"] == name]
        return json.dumps(found[0]).encode() if found else None

    async def listed(self, kind: ApiKind[Any], version: str, namespace: str | None) -> list[msgspec.Raw]:
        return [msgspec.Raw(json.dumps(each).encode()) for each in self._of(kind, namespace, None)]

    def _of(self, kind: ApiKind[Any], namespace: str | None, name: str | None) -> list[dict[str, Any]]:
        self.asked.append((kind.name, namespace, name))
        if kind.name in self.fails:
            raise StatusError(self.fails[kind.name], "as the test wants it")
        return [
            each
            for each in self.objects
            if each["kind"] == kind.name and namespace in (None, each["metadata"].get("namespace", ""))
        ]


def hint_of(about: Mapping[str, Any], objects: Iterable[dict[str, Any]]) -> Hint:
    """The hint of a case's `_about`; `uid` and `group` where it has them, else the UID of the object."""
    namespace = about.get("namespace", "ns")
    uids = (
        each["metadata"]["uid"]
        for each in objects
        if (each["kind"], each["metadata"]["name"]) == (about["kind"], about["subject"])
        and each["metadata"].get("namespace", "") == namespace
    )
    subject = Ref(about["kind"], namespace, about["subject"], about.get("uid") or next(uids, "uid"))
    found = _finding(about, subject)
    return Hint(about["check"], about["reason"], subject, fingerprint(about["check"], found))


def _finding(about: Mapping[str, Any], subject: Ref) -> Any:
    return Finding(
        reason=about["reason"], severity=Severity.INFO, subject=subject, message="", group=about.get("group", "")
    )


def confirmed(remediation: Remediation, hint: Hint, reads: MemoryReads, now: float = NOW) -> Confirmed | Refused:
    check = next(each for each in all_checks() if each.id == hint.check)
    return asyncio.run(confirm(hint, check, remediation, reads, now=now))
