"""Whether a VM's template, its instancetype and its preference fit together."""

from __future__ import annotations

from ....domain.instancetypes.conflicts import conflicts
from ....domain.instancetypes.matching import MatcherRole
from ....domain.instancetypes.requirements import unmet
from ....domain.instancetypes.resolving import Resolution
from ....findings.finding import Finding, Severity
from ....store.text.naming import listed, named
from .context import Context


def field_conflict(context: Context, resolution: Resolution) -> Finding | None:
    text, shape = resolution.spec, context.vm.shape
    paths = conflicts(shape, text) if text is not None and shape is not None else ()
    if not paths:
        return None
    fields = f"VM field(s) {', '.join(paths[:5])} conflicts with selected instance type"
    return context.finding(
        "FieldConflict",
        Severity.CRITICAL,
        MatcherRole.INSTANCETYPE,
        f"The VM's template sets {named(paths)}, which its instancetype {resolution.reference.name} provides: KubeVirt "
        "neither starts nor versions the VM",
        evidence={**listed("fields", paths), "condition": fields},
    )


def requirements_unmet(context: Context) -> Finding | None:
    sized, wanted, shape = context.instancetype, context.preference, context.vm.shape
    preference = wanted.spec if wanted is not None else None
    instancetype = sized.spec if sized is not None else None
    if preference is None or shape is None or (sized is not None and instancetype is None):
        return None  # what can't be resolved has a finding of its own
    why = unmet(shape, preference, instancetype)
    if not why:
        return None
    return context.finding(
        "RequirementsUnmet",
        Severity.WARNING,
        MatcherRole.PREFERENCE,
        f"The VM does not meet its preference {wanted.reference.name if wanted else ''}, so KubeVirt refuses its "
        f"next edit: {why}",
        evidence={"refusal": f"failure checking preference requirements: {why}"},
    )
