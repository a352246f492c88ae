"""ControllerRevisions that back a VM: whether they will go on doing so, and how far the live object has drifted."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ....domain.instancetypes.conflicts import MOST_PATHS, differing
from ....domain.instancetypes.resolving import ReferenceMode, Resolution, undecodable
from ....facts.matching import kind_of
from ....facts.naming import listed, named
from ....findings.advice import filled, values_of
from ....findings.finding import Finding
from ....findings.pages import command
from ....findings.severity import Severity
from ....store.kinds.controller_revision import ControllerRevision, Stash
from .context import Context

_CONVERTS_SINCE = (1, 3)
_DANGLES_SINCE = (1, 5)  # before, the pin is moved along (pkg/instancetype/upgrade)
_DECODES_UNTIL = (1, 7)
_OLD = ("v1alpha1", "v1alpha2")


def unfit(context: Context, resolution: Resolution) -> Iterator[Finding | None]:
    revision = resolution.revision
    if revision is None:
        return
    stash = revision.stash
    yield _not_owned(context, resolution, revision)
    if stash is None:
        return
    if not undecodable(revision, resolution.role, context.release):
        yield _labelless(context, resolution, stash)
        yield _outdated(context, resolution, stash)
        yield _other_kind(context, resolution, stash)


def _not_owned(context: Context, resolution: Resolution, revision: ControllerRevision) -> Finding | None:
    if revision.owner_uid == context.vm.uid:
        return None
    owner = f"{revision.owner_kind} {revision.owner_name}" if revision.owner_uid else "nobody"
    if revision.owner_kind == "VirtualMachine" and revision.owner_name == context.vm.name:
        owner = "a VM of this name that no longer exists"
    return context.finding(
        "RevisionNotOwned",
        Severity.WARNING,
        resolution.role,
        f"ControllerRevision {revision.name}, which backs the VM's {resolution.role.value}, belongs to {owner}",
        evidence={"owner": owner},
    )


def _labelless(context: Context, resolution: Resolution, stash: Stash) -> Finding | None:
    if stash.object_version or resolution.mode is not ReferenceMode.PINNED or context.policy != "reference":
        return None
    dangles = context.release >= _DANGLES_SINCE
    if _old(stash) and not dangles:
        return None  # KubeVirt gives it its labels when it converts it
    found = context.finding(
        "LabellessPin",
        Severity.CRITICAL if dangles else Severity.INFO,
        resolution.role,
        f"ControllerRevision {resolution.revision_name}, which the VM's spec names, has no label object-version: "
        f"KubeVirt{'' if dangles else ', from 1.5 on,'} replaces and deletes it, and the spec goes on naming it",
    )
    return _instead(found, _converting(context, resolution, stash) if _old(stash) else "")


def _old(stash: Stash) -> str:
    """The version that it is of by its label or its content, where KubeVirt 1.7 does not decode that; else empty."""
    return next((each for each in (stash.object_version, stash.version) if each.rpartition("/")[2] in _OLD), "")


def _converting(context: Context, resolution: Resolution, stash: Stash) -> str:
    """What is to be done before KubeVirt converts it; empty where that is nothing, or the release is not known."""
    if (0, 0) < context.release < _CONVERTS_SINCE:
        to, beyond = (
            ("1.3 or 1.4", "1.5") if resolution.mode is ReferenceMode.PINNED else ("a release from 1.3 to 1.6", "1.7")
        )
        return f"Upgrade KubeVirt to {to}, which converts the ControllerRevision, before upgrading to {beyond}."
    if resolution.mode is not ReferenceMode.PINNED or context.release < _DANGLES_SINCE:
        return ""
    if stash.nameless:  # what KubeVirt makes of it would be a copy of no object that there is
        return (
            "Do not change the VM. Create a ControllerRevision that holds the same spec as v1beta1, with the five "
            "labels instancetype.kubevirt.io/object-*, and let the VM's spec name that one."
        )
    return (
        f"Remove revisionName from spec.{resolution.role.value} of the VM, whose status keeps the reference, before "
        "anything else changes the VM; KubeVirt then converts the ControllerRevision."
    )


def _instead(found: Finding, step: str) -> Finding:
    """With this next step and no command that changes anything; as it is without a step."""
    if not step:
        return found
    values = values_of(found)
    commands = tuple(filled(each, values) for each in (command("references_of_vm"), command("read_revision")))
    return msgspec.structs.replace(found, next=step, commands=commands)


def _outdated(context: Context, resolution: Resolution, stash: Stash) -> Finding | None:
    if context.release >= _DECODES_UNTIL:
        return None
    version = _old(stash)
    if not version and (stash.object_version or resolution.mode is ReferenceMode.PINNED):
        return None
    state = f"is of {version.rpartition('/')[2]}" if version else "has no label object-version"
    found = context.finding(
        "RevisionOutdated",
        Severity.WARNING,
        resolution.role,
        f"ControllerRevision {resolution.revision_name} of the VM's {resolution.role.value} {state}: "
        f"{_conversion(context, resolution)}, and KubeVirt 1.7 does not decode the old versions",
        evidence={"version": version},
    )
    return _instead(found, _converting(context, resolution, stash))


def _conversion(context: Context, resolution: Resolution) -> str:
    if (0, 0) < context.release < _CONVERTS_SINCE:
        return f"KubeVirt {context.release[0]}.{context.release[1]} does not convert it, which 1.3 to 1.6 do"
    if resolution.mode is ReferenceMode.PINNED and context.release >= _DANGLES_SINCE:
        return "with the VM's next event KubeVirt converts and deletes it, and the VM's spec goes on naming it"
    return "KubeVirt, from 1.3 to 1.6, converts it with the VM's next event"


def _other_kind(context: Context, resolution: Resolution, stash: Stash) -> Finding | None:
    kind = kind_of(resolution.role, stash.object_kind) if stash.object_kind else ""
    if not kind or not resolution.kind or kind == resolution.kind:
        return None
    return context.finding(
        "RevisionOfOtherKind",
        Severity.WARNING,
        resolution.role,
        f"ControllerRevision {resolution.revision_name} is of {kind} {stash.object_name}, and the VM's matcher means "
        f"{resolution.kind} {resolution.reference.name}",
        evidence={"revisionKind": kind},
    )


def drifted(context: Context, resolution: Resolution) -> Finding | None:
    revision, live = resolution.revision, resolution.live
    stash = revision.stash if revision is not None else None
    if stash is None:
        return None
    role, name = resolution.role, resolution.reference.name
    if live is None:
        gone = f"{resolution.kind or role.value} {name} does not exist; the VM goes on with ControllerRevision"
        message = f"{gone} {resolution.revision_name}"
        return context.finding("ObjectGone", Severity.INFO, role, message)
    if stash.object_name != name:
        return _pin_of_other(context, resolution, stash)
    paths = differing(stash.spec, live.spec)
    differs = f"it differs in {'at least ' if len(paths) > MOST_PATHS else ''}{named(paths)}"
    differs = differs if paths else "both are equal"
    if stash.object_uid and stash.object_uid != live.uid:
        return context.finding(
            "ObjectRecreated",
            Severity.INFO,
            role,
            f"The VM's copy is of a {resolution.kind} {name} that was deleted; the one of that name is another: "
            f"{differs}",
            evidence={"specEqual": "false" if paths else "true", **listed("fields", paths)},
        )
    if not paths or not live.generation > stash.object_generation:
        return None
    return context.finding(
        "Drifted",
        Severity.INFO,
        role,
        f"{resolution.kind} {name} has changed since the VM's copy was made: {differs}",
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
        f"The VM's spec names {role.value} {resolution.reference.name}, and pins the VM to ControllerRevision "
        f"{resolution.revision_name}, which is a copy of {stash.object_name}: the VM has what that holds",
        evidence={"copyOf": stash.object_name, "reference": f"{role.value}Ref"},
    )
