"""How bad a finding is."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    INFO = "info"  # hygiene
    WARNING = "warning"  # it will fail, or leaks something
    CRITICAL = "critical"  # traffic, data or the control plane is at risk

    @property
    def rank(self) -> int:
        return ("info", "warning", "critical").index(self.value)
