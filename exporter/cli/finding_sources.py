"""All that a finding may come from: the checks, and what compares clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..across import ACROSS
from ..checks import all_checks
from ..findings import Severity

__all__ = ["FindingSource", "Meaning", "all_finding_sources"]


class Meaning(Protocol):
    @property
    def severities(self) -> tuple[Severity, ...]: ...
    @property
    def meaning(self) -> str: ...


class FindingSource(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def reasons(self) -> Mapping[str, Meaning]: ...


def all_finding_sources() -> tuple[FindingSource, ...]:
    """In the order of their ids."""
    return tuple(sorted((*all_checks(), ACROSS), key=lambda evaluate: evaluate.id))
