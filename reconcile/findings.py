"""The finding that a plan is for, as far as the plan has it."""

from __future__ import annotations

from exporter.findings import Finding, Severity

from .plan import Plan

__all__ = ["finding_of"]


def finding_of(plan: Plan) -> Finding:
    return Finding(
        reason=plan.reason,
        severity=Severity.INFO,
        subject=plan.subject,
        message=plan.why,
        check=plan.check,
        fingerprint=plan.fingerprint,
    )
