"""What the loop works with, and on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from exporter.checks.base import Check
from exporter.model.kind import ApiKind
from exporter.model.skew import Skew

from .attempt import Attempts
from .board import Board
from .config import Config, Mode
from .following import Following
from .gates import Labels
from .metrics import Measures
from .reading import Reads
from .remediation import Remediation
from .source import Found
from .vm_counts import VMCounts

__all__ = ["Candidate", "Parts"]


@dataclass(frozen=True)
class Candidate:
    found: Found
    remediation: Remediation
    mode: Mode

    @property
    def key(self) -> tuple[str, str]:
        return self.found.hint.fingerprint, self.remediation.id


@dataclass(frozen=True)
class Parts:
    """What a loop works with."""

    config: Config
    remediations: tuple[Remediation, ...]
    checks: Mapping[str, Check]
    settings: Mapping[str, Any]  # of the checks
    assumed: str  # the upstream version to take KubeVirt for; empty for the one that it reports
    kinds: Mapping[str, ApiKind[Any]]
    reads: Reads
    vms: VMCounts
    attempts: Attempts
    following: Following
    board: Board
    measures: Measures
    paused: Callable[[], str]  # why everything is paused now, as the Lease says; empty where it is not
    labels: Callable[[Found], Labels]  # of the alert of a finding
    clock: Callable[[], float]  # seconds since 1970
    skew: Callable[[], Skew | None]  # between that clock and the API server's, as it is now
    timer: Callable[[], float]
