"""What the loop works with, and on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from exporter.facts.times import Skew
from exporter.findings.check import Check
from exporter.store.kind import ApiKind

from ..config.settings import Mode, SidecarConfig
from ..decide.gates import Labels
from ..decide.repair import Found
from ..ledger import Entry
from ..plan.remediation import Remediation
from .attempt import Attempts, Shadowing
from .board import ShownRepairs
from .fresh_reads import Reads
from .metrics import Measures
from .outcomes import AttemptOutcomes
from .situation import VMCounts


@dataclass(frozen=True)
class Candidate:
    found: Found
    remediation: Remediation
    mode: Mode

    @property
    def key(self) -> tuple[str, str]:
        return self.found.hint.fingerprint, self.remediation.id


@dataclass
class RunContext:
    """What a loop works with. Its `config` is another one once that is reloaded: ask for it each time."""

    config: SidecarConfig
    remediations: tuple[Remediation, ...]
    checks: Mapping[str, Check]
    settings: Mapping[str, Any]  # of the checks
    assumed: str  # the upstream version to take KubeVirt for; empty for the one that it reports
    kinds: Mapping[str, ApiKind[Any]]
    reads: Reads
    vms: VMCounts
    attempts: Attempts
    shadowing: Shadowing
    kept: Callable[[Entry], None]  # takes each new entry of the ledger
    following: AttemptOutcomes
    repairs: ShownRepairs
    measures: Measures
    # Why everything is paused now, as the Lease says; empty where it is not, None where the Lease could not be read.
    paused: Callable[[], str | None]
    labels: Callable[[Found], Labels]  # of the alert of a finding
    clock: Callable[[], float]  # seconds since 1970
    skew: Callable[[], Skew | None]  # between that clock and the API server's, as it is now
    timer: Callable[[], float]
