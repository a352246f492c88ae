"""ControllerRevisions that back a VM: whether they will go on doing so, and how far the live object has drifted."""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import Finding, Severity
from ...model.instancetypes.drift import MOST_PATHS, differing
from ...model.instancetypes.matching import kind_of
from ...model.instancetypes.resolving import Mode, Resolution, undecodable
from ...model.kinds.controller_revision import ControllerRevision, Stash
from ...model.naming import listed, named
from .context import Context

__all__ = ["drifted", "unfit"]

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
        f"ControllerRevision {revision.name}, which backs its {resolution.role.value}, belongs to {owner}",
        evidence={"owner": owner},
    )


def _labelless(context: Context, resolution: Resolution, stash: Stash) -> Finding | None:
    if stash.object_version or resolution.mode is not Mode.PINNED or context.policy != "reference":
        return None
    dangles = context.release >= _DANGLES_SINCE
    return context.finding(
        "LabellessPin",
        Severity.CRITICAL if dangles else Severity.INFO,
        resolution.role,
        f"ControllerRevision {resolution.revision_name}, which its spec names, has no label object-version: KubeVirt"
        f"{'' if dangles else ', from 1.5 on,'} replaces and deletes it, and its spec goes on naming it",
    )


def _outdated(context: Context, resolution: Resolution, stash: Stash) -> Finding | None:
    if context.release >= _DECODES_UNTIL:
        return None
    unlabelled = not stash.object_version and resolution.mode is not Mode.PINNED
    version = next((each for each in (stash.object_version, stash.version) if each.rpartition("/")[2] in _OLD), "")
    if not version and not unlabelled:
        return None
    state = f"is of {version.rpartition('/')[2]}" if version else "has no label object-version"
    return context.finding(
        "RevisionOutdated",
        Severity.WARNING,
        resolution.role,
        f"ControllerRevision {resolution.revision_name} of its {resolution.role.value} {state}: KubeVirt converts it "
        "when it next reconciles the VM, and from 1.7 on no longer decodes the old versions",
        evidence={"version": version},
    )


def _other_kind(context: Context, resolution: Resolution, stash: Stash) -> Finding | None:
    kind = kind_of(resolution.role, stash.object_kind) if stash.object_kind else ""
    if not kind or not resolution.kind or kind == resolution.kind:
        return None
    return context.finding(
        "RevisionOfOtherKind",
        Severity.WARNING,
        resolution.role,
        f"ControllerRevision {resolution.revision_name} is of {kind} {stash.object_name}, and its matcher means "
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
        return None  # a pin to a copy of another object
    paths = differing(stash.spec, live.spec)
    differs = f"it differs in {'at least ' if len(paths) > MOST_PATHS else ''}{named(paths)}"
    differs = differs if paths else "both are equal"
    if stash.object_uid != live.uid:
        return context.finding(
            "ObjectRecreated",
            Severity.INFO,
            role,
            f"its copy is of a {resolution.kind} {name} that was deleted; the one of that name is another: {differs}",
            evidence={"specEqual": "false" if paths else "true", **listed("fields", paths)},
        )
    if not paths or not live.generation > stash.object_generation:
        return None
    return context.finding(
        "Drifted",
        Severity.INFO,
        role,
        f"{resolution.kind} {name} has changed since its copy was made: {differs}",
        evidence={**listed("fields", paths), "copied": stash.object_generation, "live": live.generation},
    )
