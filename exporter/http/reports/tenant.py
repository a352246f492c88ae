"""The open findings by the namespace of their subject, kept as the engine finds them: a tenant's few are not looked for
among all.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ...engine.engine import Engine
from ...findings.finding import Finding

__all__ = ["ByNamespace"]


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
