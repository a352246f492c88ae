"""What a tenant reads: the open findings of some namespaces, as they may be shown there, and nothing of others.

They are kept by namespace as the engine finds them: a tenant's few are not looked for among all.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain

import msgspec
from msgspec import UNSET, UnsetType

from ...engine.engine import Engine
from ...findings.finding import Finding, Unknown
from ...questions.findings import UNSEEN_FLEET, FindingReport, Report, reported, undecodable_report
from ...questions.tenant_text import withheld
from ...sidecar import ReportedRepair
from ...store.source import Undecodable
from ..access.viewer import Proofs, Visible
from .result_cache import Versions

_SLICE = 0.004  # seconds between two looks at the event loop
_UNKNOWN = "the check has no answer now; an admin of the cluster can see why"


class ByNamespace:
    def __init__(self, engine: Engine) -> None:
        self._findings: dict[str, dict[str, Finding]] = {}  # by namespace, then fingerprint
        self._versions: dict[str, int] = {}  # of each namespace with findings
        self._version = 0
        self._publish((), engine.findings())
        engine.listen(self._publish)

    def namespaces(self) -> Iterable[str]:
        """Those with findings."""
        return [name for name in self._findings if name]

    def of(self, namespace: str) -> list[Finding]:
        return list(self._findings.get(namespace, {}).values())

    def version(self, namespaces: Iterable[str] | None) -> Hashable:
        """Another one after each change in one of the namespaces; in any, where None are named.

        One without findings has 0, whether or not it had any: nothing is kept of namespaces that are gone.
        """
        if namespaces is None:
            return self._version
        return tuple(self._versions.get(each, 0) for each in namespaces)

    def _publish(self, gone: Iterable[Finding], come: Iterable[Finding]) -> None:
        self._version += 1
        for finding in gone:
            namespace = finding.subject.namespace
            self._versions[namespace] = self._version
            left = self._findings.get(namespace, {})
            left.pop(finding.fingerprint, None)
            if not left:
                self._findings.pop(namespace, None)
                self._versions.pop(namespace, None)
        for finding in come:
            namespace = finding.subject.namespace
            self._versions[namespace] = self._version
            self._findings.setdefault(namespace, {})[finding.fingerprint] = finding


class Tenant:
    """The findings of some namespaces, and nothing of others. The generation is filled in by whoever lists them."""

    def __init__(self, engine: Engine, versions: Versions, kept: tuple[ByNamespace, Proofs], visible: Visible) -> None:
        """`kept` is shared by all tenants."""
        self._engine, self._versions, self._visible = engine, versions, visible
        self._by_namespace, self._proofs = kept
        self._checks = {check.id: check for check in engine.checks}
        self._shown: dict[str, tuple[Finding, Finding]] = {}  # by fingerprint: as it is, and as it is shown
        self._unknown: tuple[int | None, tuple[Unknown, ...]] = (None, ())  # of which version

    @property
    def version(self) -> Hashable:
        return self._by_namespace.version(self._visible.names)

    @property
    def reports(self) -> Hashable:
        """Of more than there is to be seen: what is made of it may be the same."""
        engine = self._engine
        return self.version, engine.generation, engine.ready, engine.unknown_version, self._versions.repairs.version

    async def findings(self) -> Sequence[Finding]:
        shown: dict[str, tuple[Finding, Finding]] = {}
        began = time.monotonic()
        for namespace in self._namespaces():
            for finding in self._by_namespace.of(namespace):
                before, after = self._shown.get(finding.fingerprint, (None, finding))
                shown[finding.fingerprint] = finding, after if before is finding else self._of(finding)
                if time.monotonic() - began > _SLICE:
                    await asyncio.sleep(0)
                    began = time.monotonic()
        self._shown = shown
        return [after for _, after in shown.values()]

    def report_of(self, finding: Finding) -> FindingReport:
        shown, cluster, unknown, repairs = self._versions.report_of(finding)
        return reported(shown, cluster, unknown and _UNKNOWN, _without_words(repairs))

    def surroundings(self) -> Report:
        return Report(
            generation=0,
            findings=[],
            unknown=list(self._unknowns()),
            sources=[],
            undecodable=[undecodable_report(each) for each in self._undecodables()],
            ready=self._engine.ready,
            fleet=UNSEEN_FLEET,
        )

    def _of(self, finding: Finding) -> Finding:
        """As it may be shown."""
        if self._visible.names is None:
            return finding
        try:
            if self._proofs.shows(finding, self._visible):
                return finding
        except KeyError:
            pass  # it has closed meanwhile
        check = self._checks[finding.check]
        shown = withheld(finding, check.reasons[finding.reason].meaning)
        return msgspec.structs.replace(shown, cause=check.cause_id(shown))

    def _namespaces(self) -> Iterable[str]:
        names = self._visible.names
        return self._by_namespace.namespaces() if names is None else sorted(names)

    def _unknowns(self) -> tuple[Unknown, ...]:
        """Which checks have no answer where, without the reasons, which name objects of anybody."""
        version = self._engine.unknown_version
        if self._unknown[0] != version:
            self._unknown = version, tuple(self._made_unknowns())
        return self._unknown[1]

    def _made_unknowns(self) -> Iterable[Unknown]:
        for check in sorted(self._engine.unknown_everywhere()):
            yield Unknown(check, "", _UNKNOWN)
        places = sorted(self._engine.unknown_namespaces())
        yield from (Unknown(check, namespace, _UNKNOWN) for namespace, check in places if namespace in self._visible)

    def _undecodables(self) -> list[Undecodable]:
        cluster, names = self._engine.cluster, self._visible.names
        found = cluster.all(Undecodable) if names is None else chain(*(cluster.within(Undecodable, n) for n in names))
        return sorted((each for each in found if each.namespace in self._visible), key=lambda u: (u.namespace, u.name))


def _without_words(repairs: tuple[ReportedRepair, ...] | UnsetType) -> tuple[ReportedRepair, ...] | UnsetType:
    """Which remediation, and how far it is; what it says may name anything that its plan read."""
    if isinstance(repairs, UnsetType):
        return UNSET
    return tuple(
        ReportedRepair(fingerprint=each.fingerprint, remediation=each.remediation, state=each.state, mode=each.mode)
        for each in repairs
    )
