"""By what repairs belong together: a remediation, and the cause of what it is for (`exporter.findings.causes`)."""

from __future__ import annotations

from exporter.findings.causes import Reference


def words(reference: Reference) -> str:
    """What one act would mend."""
    where = f" in namespace {reference.namespace}" if reference.namespace else ""
    if reference.kind:
        path = f"{reference.namespace}/{reference.name}" if reference.namespace else reference.name
        return f"{reference.kind} {path}"
    if reference.node:
        return f"node {reference.node}{where}"
    if reference.network:
        return f"network {reference.network}{where}"
    if reference.feature:
        return f"feature {reference.feature}" + (f" ({reference.name})" if reference.name else "") + where
    if reference.group:
        return f"what shares {reference.group}"
    return f"namespace {reference.namespace}" if reference.namespace else "the cluster"
