"""References that lead nowhere, to the live object, or that nobody uses any more."""

from __future__ import annotations

import msgspec

from ....domain.acts import Forbids, by_edit
from ....domain.instancetypes.conflicts import conflicts, unmet
from ....domain.instancetypes.resolving import LIVE, ReferenceMode, Resolution, Unresolved, ends_at_start
from ....domain.instancetypes.resolving import reference as reference_in
from ....facts.matching import MatcherRole
from ....facts.naming import listed, named
from ....facts.record import UnseenError
from ....findings.finding import Finding, Since
from ....findings.pages import command
from ....findings.severity import Severity
from ....store.kinds.controller_revision import ControllerRevision
from ....store.kinds.instancetypes import RESOURCES
from .context import TEXTS, Context

_FAILED = {MatcherRole.INSTANCETYPE: "FailedFindInstancetype", MatcherRole.PREFERENCE: "FailedFindPreference"}
_MATCHER = {MatcherRole.INSTANCETYPE: "InstancetypeMatcher", MatcherRole.PREFERENCE: "PreferenceMatcher"}


def broken(context: Context, resolution: Resolution) -> Finding | None:
    """What keeps KubeVirt from finding or decoding it."""
    if resolution.failure is Unresolved.KIND:
        return _unknown_kind(context, resolution)
    if resolution.failure is Unresolved.OBJECT:
        return _object_missing(context, resolution)
    if resolution.saved:
        return _undecodable(context, resolution, "the name belongs to a saved VM spec")
    if resolution.failure is Unresolved.REVISION:
        return _revision_missing(context, resolution)
    if resolution.revision is not None:
        why = context.undecodable(resolution.revision, resolution.role)
        if why:
            return _undecodable(context, resolution, why)
    if context.vm.failure == _FAILED[resolution.role]:
        return context.finding(
            "FailureStands",
            Severity.WARNING,
            resolution.role,
            TEXTS.message("FailureStands", condition=context.vm.failure, role=resolution.role.value),
            since=context.vm.failed_since,
            source=Since.CONDITION,
            evidence={"condition": context.vm.failed},
        )
    return None


_ELSEWHERE = {"only_pinned": "edit_vm_status", "status": "edit_vm"}  # the edit that changes nothing of the reference


def _undecodable(context: Context, resolution: Resolution, why: str) -> Finding:
    reason, role = "RevisionUndecodable", resolution.role
    where = "pinned" if resolution.mode is ReferenceMode.PINNED else "status"
    if where == "pinned" and not resolution.reference.revision:
        where = "only_pinned"
    return context.finding(
        reason,
        context.severity,
        role,
        TEXTS.message(reason, context.state, revision=resolution.revision_name, role=role.value, why=why),
        step=TEXTS.next(reason, where if context.running else f"{where}_stopped", role=role.value),
        without=command(_ELSEWHERE[where]) if where in _ELSEWHERE else "",
    )


def _unknown_kind(context: Context, resolution: Resolution) -> Finding:
    reason, role, written = "UnknownKind", resolution.role, resolution.reference.kind
    name, stopped = resolution.reference.name, "" if context.running else "stopped"
    there = _kinds_of(context, role, name)
    variant = "_".join(filter(None, ("one", stopped))) if len(there) == 1 else stopped or "kinds"
    return context.finding(
        reason,
        context.severity,
        role,
        TEXTS.message(reason, context.state, kind=written[:64], role=role.value),
        step=TEXTS.next(
            reason,
            variant,
            role=role.value,
            namespaced=role.namespaced,
            cluster=role.cluster_wide,
            kind=there[0] if there else "",
            name=name,
        ),
        since=_reported(context, role),
        source=Since.CONDITION,
        evidence={"kind": written, "condition": f"got unexpected kind in {_MATCHER[role]}: {written}"},
    )


def _kinds_of(context: Context, role: MatcherRole, name: str) -> list[str]:
    """The kinds of which there is an object of the name; none where one of them can't be seen."""
    places = {role.namespaced: context.vm.namespace, role.cluster_wide: ""}
    try:
        return [kind for kind, place in places.items() if context.view.named(LIVE[kind], place, name) is not None]
    except UnseenError:
        return []


_MISSING = {True: ("running", ""), False: ("stopped",)}  # by whether the VM runs


def _object_missing(context: Context, resolution: Resolution) -> Finding:
    role, name = resolution.role, resolution.reference.name
    condition = f'{RESOURCES[resolution.kind]} "{name}" not found'
    return context.finding(
        "ObjectMissing",
        context.severity,
        role,
        TEXTS.message("ObjectMissing", context.state, kind=resolution.kind, name=name),
        step=TEXTS.next_if_short("ObjectMissing", *_MISSING[context.running], role=role.value, name=name),
        since=_reported(context, role),
        source=Since.CONDITION,
        evidence={"condition": condition},
    )


def _revision_missing(context: Context, resolution: Resolution) -> Finding:
    reason, role, name = "RevisionMissing", resolution.role, resolution.revision_name
    pinned = resolution.mode is ReferenceMode.PINNED
    gone = resolution.live is None and bool(resolution.kind)
    state = f"{context.state}_gone" if gone else context.state
    kept = _kept_by_status(context, resolution)
    return context.finding(
        reason,
        context.severity,
        role,
        TEXTS.message(
            reason,
            state,
            revision=name,
            where=f"spec.{role.value}" if pinned else f"status.{role.value}Ref",
            kind=resolution.kind,
            object=resolution.reference.name,
        ),
        step=TEXTS.next(reason, "kept")
        if kept
        else TEXTS.next_if_short(reason, *(("named", "") if context.running else (state,)), revision=name),
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
            TEXTS.message("InferencePending", role=role.value, volume=resolution.reference.volume),
        )
    versioned = any(each is not None and each.revision for each in (context.vm.instancetype, context.vm.preference))
    if context.policy == "expandAll" or (context.policy == "expand" and not versioned):
        return context.finding(
            "ExpandPending",
            Severity.WARNING,
            role,
            TEXTS.message("ExpandPending", policy=context.policy, role=role.value, name=resolution.reference.name),
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
        TEXTS.message("Unversioned", kind=resolution.kind, name=resolution.reference.name),
        since=None if changing else context.vm.created,
        evidence={"condition": context.vm.failed},
    )


def stale_reference(context: Context, role: MatcherRole) -> Finding | None:
    kept = reference_in(context.vm, role)
    if kept is None or not kept.revision:
        return None
    if kept.wanted and not (kept.pin and kept.status_name != kept.name):
        return None
    kubevirt, name = context.kubevirt, kept.status_name or "(unnamed)"
    if kubevirt is not None and not kept.wanted and ends_at_start(kubevirt):
        return context.finding(
            "CrashingReference",
            Severity.CRITICAL,
            role,
            TEXTS.message("CrashingReference", role=role.value, name=name, release=".".join(map(str, kubevirt.patch))),
            evidence={"revision": kept.revision, "reference": f"{role.value}Ref"},
            step=TEXTS.next("CrashingReference", "role", role=role.value),
        )
    return context.finding(
        "StaleReference",
        Severity.INFO,
        role,
        TEXTS.message("StaleReference", "pinned" if kept.wanted else "", role=role.value, name=name, object=kept.name),
        evidence={"statusRevision": kept.revision},
    )


# Whether a VM's template, its instancetype and its preference fit together.


def field_conflict(context: Context, resolution: Resolution) -> Finding | None:
    text, shape = resolution.spec, context.vm.shape
    paths = conflicts(shape, text, context.release) if text is not None and shape is not None else ()
    if not paths:
        return None
    fields = f"VM field(s) {', '.join(paths[:5])} conflicts with selected instance type"
    one = paths[0].removeprefix("spec.template.spec.") if len(paths) == 1 else ""
    return context.finding(
        "FieldConflict",
        context.severity,
        MatcherRole.INSTANCETYPE,
        TEXTS.message("FieldConflict", fields=named(paths), name=resolution.reference.name),
        evidence={**listed("fields", paths), "condition": fields},
        step=TEXTS.next_if_short("FieldConflict", "named", field=one) if one else "",
    )


def requirements_unmet(context: Context) -> Finding | None:
    sized, wanted, shape = context.instancetype, context.preference, context.vm.shape
    preference = wanted.spec if wanted is not None else None
    instancetype = sized.spec if sized is not None else None
    if preference is None or shape is None or (sized is not None and instancetype is None):
        return None  # what can't be resolved has a finding of its own
    why = unmet(shape, preference, instancetype, context.release)
    if not why:
        return None
    made = context.finding(
        "RequirementsUnmet",
        Severity.WARNING,
        MatcherRole.PREFERENCE,
        TEXTS.message("RequirementsUnmet", name=wanted.reference.name if wanted else "", why=why),
        evidence={"refusal": f"failure checking preference requirements: {why}"},
        step=TEXTS.next("RequirementsUnmet", "own" if sized is None else "instancetype"),
    )
    acts = by_edit(context.vm.run_strategy)
    return msgspec.structs.replace(made, forbids=Forbids(acts, "KubeVirt rejects its edits, and this is one"))
