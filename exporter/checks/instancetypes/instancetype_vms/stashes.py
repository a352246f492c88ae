"""ControllerRevisions that back a VM: whether they will go on doing so, and how far the live object has drifted."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ....domain.instancetypes.conflicts import MOST_PATHS, differing
from ....domain.instancetypes.resolving import ReferenceMode, Resolution
from ....facts.matching import kind_of
from ....facts.naming import listed, named
from ....findings.advice import filled, values_of
from ....findings.finding import Finding
from ....findings.pages import command
from ....findings.severity import Severity
from ....store.kinds.controller_revision import ControllerRevision, Stash
from .context import TEXTS, Context, old_version

_CONVERTS_SINCE = (1, 3)
_DANGLES_SINCE = (1, 5)  # before, the pin is moved along (pkg/instancetype/upgrade)
_DECODES_UNTIL = (1, 7)
_ANNOTATES = ("annotate", "annotate_pinned")  # the steps that have KubeVirt convert it


def unfit(context: Context, resolution: Resolution) -> Iterator[Finding | None]:
    revision = resolution.revision
    if revision is None:
        return
    stash = revision.stash
    yield _not_owned(context, resolution, revision)
    if stash is None:
        return
    if not context.undecodable(revision, resolution.role):
        yield _labelless(context, resolution, stash)
        yield _outdated(context, resolution, stash)
        yield _other_kind(context, resolution, stash)


def _not_owned(context: Context, resolution: Resolution, revision: ControllerRevision) -> Finding | None:
    whose = _whose(context, revision)
    if not whose:
        return None
    reason, role = "RevisionNotOwned", resolution.role
    named_owner = f"{revision.owner_kind} {revision.owner_name}"
    owner = {"gone": "a deleted VM of this name", "ownerless": "none"}.get(whose, named_owner)
    found = context.finding(
        reason,
        Severity.WARNING,
        role,
        TEXTS.message(reason, whose, revision=revision.name, role=role.value, owner=owner),
        evidence={"owner": owner},
        step=TEXTS.next_if_short(reason, whose, owner=owner),
    )
    # The remedy makes the VM its owner, which would take it from the one that it has.
    return msgspec.structs.replace(found, remediation="") if whose == "other" else found


def _whose(context: Context, revision: ControllerRevision) -> str:
    """The variant of a text by the owner of a ControllerRevision; empty where that is the VM."""
    if revision.owner_uid == context.vm.uid:
        return ""
    if revision.owner_kind == "VirtualMachine" and revision.owner_name == context.vm.name:
        return "gone"
    return "other" if revision.owner_uid else "ownerless"


def _labelless(context: Context, resolution: Resolution, stash: Stash) -> Finding | None:
    if stash.object_version or resolution.mode is not ReferenceMode.PINNED or context.policy != "reference":
        return None
    dangles = context.release >= _DANGLES_SINCE
    if old_version(stash) and not dangles:
        return None  # KubeVirt gives it its labels when it converts it
    reason, role = "LabellessPin", resolution.role
    step = (_before(context, resolution, stash) if old_version(stash) else "") or "labels"
    labels = _labels(resolution, stash) if step == "labels" else {}
    found = context.finding(
        reason,
        Severity.CRITICAL if dangles else Severity.INFO,
        role,
        TEXTS.message(reason, "" if dangles else "later", revision=resolution.revision_name),
        step=TEXTS.next(reason, step, role=role.value),
        evidence=labels,
    )
    return found if labels else _reading(found)


def _labels(resolution: Resolution, stash: Stash) -> dict[str, str]:
    """The values of the labels that it lacks; none where it holds another object than the VM refers to."""
    if stash.says is None or (stash.kind, stash.says[0]) != (resolution.kind, resolution.reference.name):
        return {}
    _, uid, generation = stash.says
    return {"objectVersion": stash.version, "objectUid": uid, "generation": generation}


def _before(context: Context, resolution: Resolution, stash: Stash) -> str:
    """The next step, by its variant, that comes before KubeVirt converts it; empty where none does."""
    pinned = resolution.mode is ReferenceMode.PINNED
    if (0, 0) < context.release < _CONVERTS_SINCE:
        return "upgrade_pinned" if pinned else "upgrade"
    if not pinned or context.release < _DANGLES_SINCE:
        return ""
    # What KubeVirt makes of one without a name would be a copy of no object that there is.
    return "rebuild" if stash.nameless else "unpin"


def _outdated(context: Context, resolution: Resolution, stash: Stash) -> Finding | None:
    if context.release >= _DECODES_UNTIL:
        return None
    version = old_version(stash)
    if not version and (stash.object_version or resolution.mode is ReferenceMode.PINNED):
        return None
    reason, role = "RevisionOutdated", resolution.role
    before = _before(context, resolution, stash)
    # KubeVirt deletes what it has converted for whichever VM comes first (Upgrade in pkg/instancetype/upgrade).
    shared = resolution.revision is not None and _whose(context, resolution.revision) == "other"
    step = "shared" if shared else before or _annotating(context, resolution)
    conversion = {"": "converts", "rebuild": "dangles", "unpin": "dangles"}.get(before, "waits")
    found = context.finding(
        reason,
        Severity.WARNING,
        role,
        TEXTS.message(
            reason,
            conversion if version else f"{conversion}_unlabeled",
            revision=resolution.revision_name,
            role=role.value,
            version=version.rpartition("/")[2],
            release=".".join(map(str, context.release)),
        ),
        evidence={"version": version},
        step=TEXTS.next(reason, step, role=role.value),
    )
    return found if step in _ANNOTATES else _reading(found)


def _annotating(context: Context, resolution: Resolution) -> str:
    if resolution.mode is not ReferenceMode.PINNED:
        return "annotate"
    return "annotate_pinned" if context.release > (0, 0) else "unknown"


def _reading(found: Finding) -> Finding:
    """Without the command that has KubeVirt convert it."""
    values = values_of(found)
    looks = (command(each) for each in ("references_of_vm", "read_revision", "pins_of_revision"))
    return msgspec.structs.replace(found, commands=tuple(filled(each, values) for each in looks))


def _other_kind(context: Context, resolution: Resolution, stash: Stash) -> Finding | None:
    kind = kind_of(resolution.role, stash.object_kind) if stash.object_kind else ""
    if not kind or not resolution.kind or kind == resolution.kind:
        return None
    reason, role, pinned = "RevisionOfOtherKind", resolution.role, resolution.mode is ReferenceMode.PINNED
    return context.finding(
        reason,
        Severity.WARNING,
        role,
        TEXTS.message(
            reason,
            revision=resolution.revision_name,
            held=kind,
            name=stash.object_name,
            kind=resolution.kind,
            object=resolution.reference.name,
        ),
        evidence={"revisionKind": kind},
        step=TEXTS.next(reason, "pinned", role=role.value, kind=kind) if pinned else "",
    )


def drifted(context: Context, resolution: Resolution) -> Finding | None:
    revision, live = resolution.revision, resolution.live
    stash = revision.stash if revision is not None else None
    if stash is None:
        return None
    role, name = resolution.role, resolution.reference.name
    if live is None:
        kind = resolution.kind or role.value
        message = TEXTS.message("ObjectGone", kind=kind, name=name, revision=resolution.revision_name)
        return context.finding("ObjectGone", Severity.INFO, role, message)
    if stash.object_name != name:
        return _pin_of_other(context, resolution, stash)
    paths = differing(stash.spec, live.spec)
    many = len(paths) > MOST_PATHS
    fields = {"kind": resolution.kind, "name": name, "most": MOST_PATHS}
    fields |= {"fields": named(paths[:5] if many else paths)}
    if stash.object_uid and stash.object_uid != live.uid:
        return context.finding(
            "ObjectRecreated",
            Severity.INFO,
            role,
            TEXTS.message("ObjectRecreated", "many" if many else "" if paths else "equal", **fields),
            evidence={"specEqual": "false" if paths else "true", **listed("fields", paths)},
        )
    if not paths or not live.generation > stash.object_generation:
        return None
    return context.finding(
        "Drifted",
        Severity.INFO,
        role,
        TEXTS.message("Drifted", "many" if many else "", **fields),
        evidence={**listed("fields", paths), "copied": stash.object_generation, "live": live.generation},
    )


def _pin_of_other(context: Context, resolution: Resolution, stash: Stash) -> Finding | None:
    """Of a pin alone: the status may name any in 1.5.0 and 1.5.1. That of another kind has a finding already."""
    role, of = resolution.role, kind_of(resolution.role, stash.object_kind)
    if resolution.mode is not ReferenceMode.PINNED or not stash.object_name or of != resolution.kind:
        return None
    return context.finding(
        "PinOfOtherObject",
        Severity.INFO,
        role,
        TEXTS.message(
            "PinOfOtherObject",
            role=role.value,
            object=resolution.reference.name,
            revision=resolution.revision_name,
            held=stash.object_name,
        ),
        evidence={"copyOf": stash.object_name, "reference": f"{role.value}Ref"},
    )
