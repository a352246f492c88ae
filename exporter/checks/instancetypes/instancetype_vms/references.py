"""References that lead nowhere, to the live object, or that nobody uses any more."""

from __future__ import annotations

from ....domain.instancetypes.conflicts import conflicts, unmet
from ....domain.instancetypes.resolving import ReferenceMode, Resolution, Unresolved, ends_at_start, undecodable
from ....domain.instancetypes.resolving import reference as reference_in
from ....facts.matching import MatcherRole
from ....facts.naming import listed, named
from ....findings.finding import Finding, Since
from ....findings.severity import Severity
from ....store.kinds.controller_revision import ControllerRevision
from ....store.kinds.instancetypes import RESOURCES
from .context import Context

_FAILED = {MatcherRole.INSTANCETYPE: "FailedFindInstancetype", MatcherRole.PREFERENCE: "FailedFindPreference"}
_MATCHER = {MatcherRole.INSTANCETYPE: "InstancetypeMatcher", MatcherRole.PREFERENCE: "PreferenceMatcher"}


def broken(context: Context, resolution: Resolution) -> Finding | None:
    """What keeps KubeVirt from finding or decoding it."""
    if resolution.failure is Unresolved.KIND:
        return _unknown_kind(context, resolution)
    if resolution.failure is Unresolved.OBJECT:
        return _object_missing(context, resolution)
    if resolution.saved:
        return _undecodable(context, resolution, "the spec that a VMI started with has such a name")
    if resolution.failure is Unresolved.REVISION:
        return _revision_missing(context, resolution)
    if resolution.revision is not None:
        why = undecodable(resolution.revision, resolution.role, context.release)
        if why:
            return _undecodable(context, resolution, why)
    if context.vm.failure == _FAILED[resolution.role]:
        return context.finding(
            "FailureStands",
            Severity.WARNING,
            resolution.role,
            f"KubeVirt reports {context.vm.failure}, although the VM's {resolution.role.value} is there: the condition "
            "is old, or virt-controller sees something else",
            since=context.vm.failed_since,
            source=Since.CONDITION,
            evidence={"condition": context.vm.failed},
        )
    return None


def _undecodable(context: Context, resolution: Resolution, why: str) -> Finding:
    return context.finding(
        "RevisionUndecodable",
        Severity.CRITICAL,
        resolution.role,
        f"KubeVirt cannot decode the VM's {resolution.role.value} in ControllerRevision {resolution.revision_name}: "
        f"{why}; {_consequence(context)}",
    )


def _consequence(context: Context) -> str:
    if context.running:
        return "the VM can neither be stopped nor restarted through the VM object"
    return "the VM cannot start"


def _unknown_kind(context: Context, resolution: Resolution) -> Finding:
    role, written = resolution.role, resolution.reference.kind
    return context.finding(
        "UnknownKind",
        Severity.CRITICAL,
        role,
        f"The VM's matcher has the kind {written[:64]}, which is neither {role.namespaced} nor {role.cluster_wide}; "
        f"{_consequence(context)}",
        since=_reported(context, role),
        source=Since.CONDITION,
        evidence={"kind": written, "condition": f"got unexpected kind in {_MATCHER[role]}: {written}"},
    )


def _object_missing(context: Context, resolution: Resolution) -> Finding:
    role, name = resolution.role, resolution.reference.name
    condition = f'{RESOURCES[resolution.kind]} "{name}" not found'
    return context.finding(
        "ObjectMissing",
        Severity.CRITICAL if context.needed else Severity.WARNING,
        role,
        f"The VM's {role.value} {resolution.kind} {name} does not exist, and the VM has no copy of it: "
        f"{_consequence(context)}",
        since=_reported(context, role),
        source=Since.CONDITION,
        evidence={"condition": condition},
    )


def _revision_missing(context: Context, resolution: Resolution) -> Finding:
    role, name = resolution.role, resolution.revision_name
    named = "spec names" if resolution.mode is ReferenceMode.PINNED else "status names"
    live = "the live object is there" if resolution.live is not None else "the live object is gone as well"
    kept = _kept_by_status(context, resolution)
    if kept:
        live = f"the status names {kept}, which is there: without the pin KubeVirt takes that"
    return context.finding(
        "RevisionMissing",
        Severity.CRITICAL,
        role,
        f"ControllerRevision {name}, which the VM's {named} for its {role.value}, does not exist ({live}): "
        f"{_consequence(context)}",
        since=_reported(context, role),
        source=Since.CONDITION,
        evidence={"condition": f'controllerrevisions.apps "{name}" not found', "statusRevision": kept},
    )


def _kept_by_status(context: Context, resolution: Resolution) -> str:
    """The copy of the same object that a pinned VM has in its status; empty where there is none."""
    name = resolution.reference.revision
    if resolution.mode is not ReferenceMode.PINNED or name in ("", resolution.revision_name):
        return ""
    found = context.view.named(ControllerRevision, context.vm.namespace, name)
    stash = found.stash if found is not None else None
    return name if stash is not None and stash.object_name == resolution.reference.name else ""


def _reported(context: Context, role: MatcherRole) -> float | None:
    """Since when KubeVirt reports that it can't find it; None while it does not."""
    return context.vm.failed_since if context.vm.failure == _FAILED[role] else None


def unversioned(context: Context, resolution: Resolution) -> Finding | None:
    """What has no copy, or is to lose its reference."""
    role = resolution.role
    if resolution.mode is ReferenceMode.INFERRED or resolution.reference.volume:
        return context.finding(
            "InferencePending",
            Severity.INFO,
            role,
            f"The VM's {role.value} is still to be inferred from volume {resolution.reference.volume}",
        )
    versioned = any(each is not None and each.revision for each in (context.vm.instancetype, context.vm.preference))
    if context.policy == "expandAll" or (context.policy == "expand" and not versioned):
        return context.finding(
            "ExpandPending",
            Severity.WARNING,
            role,
            f"KubeVirt's referencePolicy is {context.policy}, and the VM still refers to {role.value} "
            f"{resolution.reference.name}",
            since=context.vm.created,
            evidence={"referencePolicy": context.policy},
        )
    if resolution.mode is not ReferenceMode.UNVERSIONED or context.policy != "reference":
        return None
    # While a VM changes to another object, its status has the revision of the earlier one.
    changing = bool(resolution.reference.revision)
    return context.finding(
        "Unversioned",
        Severity.WARNING,
        role,
        f"The VM has no copy of its {role.value} {resolution.kind} {resolution.reference.name}: it changes with the "
        "live object, and fails without it",
        since=None if changing else context.vm.created,
        evidence={"condition": context.vm.failed},
    )


def stale_reference(context: Context, role: MatcherRole) -> Finding | None:
    kept = reference_in(context.vm, role)
    if kept is None or not kept.revision:
        return None
    if kept.wanted and not (kept.pin and kept.status_name != kept.name):
        return None
    has = f"names {kept.name}, pinned" if kept.wanted else f"has no {role.value}"
    kubevirt = context.kubevirt
    if kubevirt is not None and not kept.wanted and ends_at_start(kubevirt):
        return context.finding(
            "CrashingReference",
            Severity.CRITICAL,
            role,
            f"The VM's status refers to {role.value} {kept.status_name or '(unnamed)'}, and its spec {has}: a start of "
            f"the VM ends virt-controller of KubeVirt {'.'.join(map(str, kubevirt.patch))}",
            evidence={"revision": kept.revision, "reference": f"{role.value}Ref"},
        )
    return context.finding(
        "StaleReference",
        Severity.INFO,
        role,
        f"The VM's status refers to {role.value} {kept.status_name or '(unnamed)'}, and its spec {has}",
        evidence={"statusRevision": kept.revision},
    )


# Whether a VM's template, its instancetype and its preference fit together.


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
