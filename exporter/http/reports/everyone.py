"""What there is to be listed for a viewer: the findings as they may be shown, and what surrounds them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

import msgspec

from ...engine.engine import Engine
from ...findings.finding import Finding
from ...views.findings import FindingReport, Report, reported, surroundings
from ...views.repairs import reconcile_of
from .result_cache import Versions


class Picture(Protocol):
    @property
    def version(self) -> Hashable:
        """The findings are the same as before if it is."""

    @property
    def reports(self) -> Hashable:
        """So is all that is reported."""

    async def findings(self) -> Sequence[Finding]: ...
    def report_of(self, finding: Finding) -> FindingReport: ...
    def surroundings(self) -> Report: ...


class Fleet:
    """Everything."""

    def __init__(self, engine: Engine, versions: Versions) -> None:
        self._engine, self._versions = engine, versions
        self._surroundings: tuple[Hashable, Report | None] = (None, None)  # of which version

    @property
    def version(self) -> Hashable:
        return self._versions.findings

    @property
    def reports(self) -> Hashable:
        return self._versions.reports

    async def findings(self) -> Sequence[Finding]:
        return list(self._engine.findings())

    def report_of(self, finding: Finding) -> FindingReport:
        return reported(*self._versions.report_of(finding))

    def surroundings(self) -> Report:
        version = self._versions.everything, self._engine.ready
        before, made = self._surroundings
        if made is None or before != version:
            made = surroundings(self._engine)
            self._surroundings = version, made
        return msgspec.structs.replace(made, reconcile=reconcile_of(self._versions.repairs))
