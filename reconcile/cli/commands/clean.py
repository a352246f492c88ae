"""`steward reconcile clean`: lists what repairs left on objects, and takes it off."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from exporter.cli.input.once import aim_of
from exporter.cli.output.text.screen import width
from exporter.cli.output.text.terminal import complain, one_line, say
from exporter.facts.record import Ref
from exporter.kube.clocks import boottime
from exporter.kube.errors import AbsentError, KubeError, StatusError
from exporter.kube.reviews import Resource, own_permission
from exporter.store.kind import ApiKind
from exporter.store.kinds.instancetypes import INSTANCETYPES

from ...carry_out.attempt import AttemptState, Make
from ...carry_out.confirm import Confirmed
from ...carry_out.fresh_reads import document
from ...carry_out.lease_record import NotLeadingError
from ...carry_out.ledger_in_lease import cluster_uid
from ...ledger import Ledger
from ...plan.owners import claimed
from ...plan.plan import Plan, Refused
from ...plan.remediation import Remediation
from ...plan.remediations import all_remediations, all_undos
from ...plan.removal import GUARD, REMOVAL, guard, guarded, left_alone, leftovers, removal
from ...plan.requests import ref_of
from ...plan.undo import Unaccepted
from ..applying import carried_out, ended, made, permitted, shown
from ..calling_off import called_off
from ..leases import Unled
from ..ledger_pages import known_guards
from ..session import Session, finish, open_session
from ..several import fitted, indented, readable
from ..writing import agreed, attempts, directory_of, known, named_directory, opened, settled, who

# Where repairs left something: the objects of all kinds that they write, and the permissions to take it off.

_ALSO = ("KubeVirt", "Namespace", "Pod")  # which are paused, approved of or nudged, and not written
_FORBIDDEN = 403


class Leftover(NamedTuple):
    """An object with something left on it: JSON pointers, and whether it is guarded."""

    kind: ApiKind[Any]
    ref: Ref
    whole: Mapping[str, Any]
    paths: list[str]
    guarded: bool

    def __str__(self) -> str:
        names: dict[str, list[str]] = {}
        for path in self.paths:
            *_, map_name, key = path.split("/")
            names.setdefault(map_name.removesuffix("s"), []).append(key.replace("~1", "/").replace("~0", "~"))
        parts = [f"{what}{'s' if len(each) > 1 else ''} {', '.join(each)}" for what, each in names.items()]
        return f"{self.ref}: {'; '.join([*parts, *(('its guard',) if self.guarded else ())])}"


@dataclass
class Scan:
    """What is found. `left` are sentences about what has to stay, `unlisted` the kinds that may not be listed."""

    found: list[Leftover] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    unlisted: list[ApiKind[Any]] = field(default_factory=list)


async def scanned(at: Session, *, guards: bool, namespace: str | None) -> Scan:
    """Of the whole cluster; or of `guards` alone, also on what is being deleted, and of one namespace, None for all.

    Raises KubeError, for what is not a matter of permissions.
    """
    scan = Scan()
    for kind in INSTANCETYPES if guards else _kinds(at.kinds):
        if namespace is not None and not kind.namespaced:
            continue
        try:
            listed = await at.reads.listed(kind, await at.reads.served(kind), namespace)
        except AbsentError:
            continue
        except StatusError as error:
            if error.code != _FORBIDDEN:
                raise
            scan.unlisted.append(kind)
            continue
        for whole in map(document, listed):
            ref, is_guarded = ref_of(kind.name, whole), guarded(whole)
            paths = [] if guards else leftovers(kind.name, whole)
            if not paths and not is_guarded:
                continue
            if why := "" if guards else left_alone(kind.name, whole):
                scan.left.append(f"{ref}: {why}")
            else:
                scan.found.append(Leftover(kind, ref, {"kind": kind.name, **whole}, paths, is_guarded))
    return scan


def _kinds(kinds: Mapping[str, ApiKind[Any]]) -> Iterator[ApiKind[Any]]:
    """Those that repairs write, or that are paused or approved of for one."""
    written = {write.resource.partition("/")[0] for each in all_remediations() for write in each.writes}
    return (kind for name, kind in sorted(kinds.items()) if kind.plural in written or name in _ALSO)


async def may_not(at: Session, found: Iterable[Leftover]) -> list[str]:
    """The permissions that are missing to take it off, each in words, as in "patch pods in namespace shop".

    Raises KubeError where that can't be asked.
    """
    wanted: dict[str, tuple[ApiKind[Any], set[str]]] = {}
    for each in found:
        wanted.setdefault(each.kind.resource, (each.kind, set()))[1].add(each.ref.namespace)
    missing = []
    for kind, namespaces in wanted.values():
        if await _may_patch(at, kind, ""):
            continue
        lacking = [name for name in sorted(namespaces) if not name or not await _may_patch(at, kind, name)]
        where = f" in namespace{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}" if any(lacking) else ""
        missing += [f"patch {kind.resource}{where}"] if lacking else []
    return missing


async def _may_patch(at: Session, kind: ApiKind[Any], namespace: str) -> bool:
    return await own_permission(at.transport, Resource(kind.group, kind.plural, "patch", namespace))


_DONE_ALREADY = "something_left"  # the precondition that does not hold where somebody else took it off


def run(arguments: argparse.Namespace) -> int:
    return finish(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    """Raises ValueError, KubeError, SourceError, LedgerError."""
    _refuse_halves(arguments)
    async with open_session(arguments) as at:
        return await (called_off(at, arguments.requests) if arguments.requests else _cleaned(at))


def _refuse_halves(arguments: argparse.Namespace) -> None:
    """Raises ValueError for options that ask for nothing, or for less than is meant."""
    if "" in (arguments.namespace, arguments.requests):
        raise ValueError("a name is empty. For all namespaces, omit -n")
    if not arguments.guards and (arguments.namespace or arguments.accept):
        raise ValueError("-n and --accept are for --guards")
    if arguments.yes and not (arguments.all or arguments.guards or arguments.requests):
        raise ValueError("--yes needs --all, --guards or --requests NODE: otherwise nothing is changed")


async def _cleaned(at: Session) -> int:
    """Lists what is left, and takes off what is asked for; guards alone also while a sidecar runs, which is kept from
    putting them again by a pause of each object.
    """
    arguments = at.arguments
    unled = Unled(at) if arguments.all else None
    if unled is not None and (why := await unled.looked()):
        complain(f"{why}. Scale its Deployment to 0 first: it would restore the guards and annotations")
        return 1
    changes = arguments.all or arguments.guards
    await at.refuse_no_namespace(arguments.namespace)
    by = await who(at)
    scan = await scanned(at, guards=arguments.guards, namespace=arguments.namespace)
    missing = [f"list {kind.resource}" for kind in scan.unlisted]
    if missing := [*missing, *(await may_not(at, scan.found) if changes else ())]:
        complain(f"{by} has no permission to {', '.join(missing)}. Nothing was changed")
        return 2
    if not scan.found:
        await at.refuse_no_kubevirt()
    guards = await _guards(at, scan, by)
    nothing = "No object has the guard.\n" if arguments.guards else "Repairs left nothing on any object.\n"
    say(aim_of(arguments).command(_shown(scan, guards if arguments.guards else (), width()) or nothing))
    if not scan.found or not changes:
        return int(bool(scan.found or scan.left))
    directory, cluster = directory_of(arguments, at), await cluster_uid(at.reads)
    if not agreed(arguments, "Remove it?"):
        return 1
    with opened(directory, cluster) as ledger:
        await settled(attempts(at, ledger), ledger)
        try:
            ends = [await _taken_off(at, ledger, each, by, unled) for each in (*guards, *_notes(at, scan.found))]
        except NotLeadingError as error:
            complain(f"{error}. Stopped here. Scale its Deployment to 0 and run this command again")
            return 2
    return max([*ends, int(bool(scan.left))])


# What takes it off: guards by their undo, and the rest of an object in one write.


class Taking(NamedTuple):
    """A write as it was shown, and how it is made again; `done` and `then` are said once it is, and `of` is as of
    `permitted`.
    """

    plan: Plan
    make: Make
    done: str
    then: str = ""
    of: Remediation | None = None


async def _guards(at: Session, scan: Scan, by: str) -> list[Taking]:
    """Of the objects that are guarded; those that have to stay so are noted. A loss is accepted where there is one."""
    attempts_of, undo, found = known_guards(known(at.arguments, at)), all_undos()[GUARD], list[Taking]()
    pauses, words = at.arguments.guards, set(at.arguments.accept)
    for number, each in enumerate(scan.found):
        if not each.guarded:
            continue
        attempt = attempts_of.get(each.ref.uid, "")
        own = guard(each.ref, each.whole, "the guard is being removed.")
        own = replace(own, by=by, pauses=pauses, attempt=attempt, why="" if attempt else own.why)
        first = await made(at, own, undo)
        if isinstance(first, Unaccepted) and set(first.words) <= words:
            own = replace(own, accepted=first.words)
            first = await made(at, own, undo)
        if isinstance(first, Confirmed) and first.plan.proposal is None:
            done = f"{each.ref} is no longer guarded"
            then = f" It is paused. To resume: steward reconcile resume {each.ref.kind} {each.ref.path}"
            found.append(Taking(first.plan, partial(made, at, own, undo), done, then if pauses else ""))
            continue
        scan.left.append(f"{each.ref} stays guarded, {_refusal(first)}")
        scan.found[number] = each._replace(guarded=False)
    scan.found = [each for each in scan.found if each.paths or each.guarded]
    return found


def _refusal(found: Confirmed | Refused) -> str:
    if isinstance(found, Refused):
        more = ". To accept this loss: steward reconcile clean --guards --accept copy"
        return f"{found.precondition}: {found.why}{more if isinstance(found, Unaccepted) else ''}"
    proposal = found.plan.proposal
    return f"ours_to_write: {proposal.owner} owns it; {proposal.where}" if proposal is not None else ""


def _notes(at: Session, found: Iterable[Leftover]) -> Iterator[Taking]:
    """Annotations and labels, where they are what is asked for."""
    for each in found:
        plan = removal(each.ref, each.whole)
        if each.paths and isinstance(plan, Plan):
            yield Taking(plan, partial(_made, at, each), f"{each.ref}: removed", of=REMOVAL)


def _shown(scan: Scan, guards: Iterable[Taking], columns: int | None) -> str:
    """What goes, and what stays; of `guards` all that taking them off comes to."""
    plans = "".join(fitted(shown(each.plan, f"{each.plan.target}:"), columns) for each in guards)
    found = () if plans else scan.found
    lists = (
        f"{title}\n{''.join(indented(one_line(str(each)), columns) for each in some)}"
        for title, some in (("To remove:", found), ("Remains:", scan.left))
        if some
    )
    return plans + "".join(lists)


async def _taken_off(at: Session, ledger: Ledger, each: Taking, by: str, unled: Unled | None) -> int:
    """The exit code. Raises LedgerError, KubeError, NotLeadingError."""
    result = await carried_out(
        at, ledger, each.make, each.plan, by, permit=lambda: permitted(at, each.plan, ledger, each.of), fence=unled
    )
    if result.state == AttemptState.DONE:
        say(readable(f"{one_line(each.done)}, attempt {result.attempt}.{each.then}\n", at.arguments))
        return 0
    if result.refused == _DONE_ALREADY:
        return 0
    say(f"{one_line(str(each.plan.target))}:\n")
    return ended(result, named_directory(at.arguments, at), at.arguments)


async def _made(at: Session, each: Leftover) -> Confirmed | Refused:
    """What takes it off, by the object as it is now."""
    read, ref = boottime(), each.ref
    try:
        raw = await at.reads.get(each.kind, await at.reads.served(each.kind), ref.namespace, ref.name)
        whole = document(raw) if raw is not None else {}
    except KubeError as error:
        return Refused("everything_seen", f"{ref} can't be read: {error}")
    if (whole.get("metadata") or {}).get("uid") != ref.uid:
        return Refused(_DONE_ALREADY, f"{ref} with UID {ref.uid} no longer exists")
    plan = removal(ref, {"kind": ref.kind, **whole})
    if isinstance(plan, Refused):
        return plan
    if (proposal := claimed(plan, whole)) is not None:
        return Refused("ours_to_write", f"{proposal.owner} owns it; {proposal.where}")
    return Confirmed(plan, whole, read)
