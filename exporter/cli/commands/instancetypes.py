"""`steward instancetypes`: which VMs refer to each instancetype and preference, and which of them fail without it."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.naming import kind_word, named
from ...questions.instancetypes import QUESTION, InstancetypeReport, Instancetypes, chosen
from ...questions.trust import exit_code
from ..asking import CommandQuestion
from ..output.text.layout import grid
from ..output.text.terminal import one_line

# Instancetypes and preferences as text: who uses each and how, then what is to be known before one is changed.


def listed_instancetypes(found: Instancetypes, columns: int | None) -> str:
    """`columns` of the terminal; None where it goes elsewhere."""
    parts = [grid(_HEAD, [_row(each) for each in found.objects], columns) if found.objects else ""]
    parts += [title + grid(_MORE, rows, columns) for title, rows in (_details(each) for each in found.objects) if rows]
    parts += [
        f"{count} {'VM waits' if count == 1 else 'VMs wait'} for {_A[role]} to be inferred from a volume.\n"
        for role, count in found.inferred.items()
        if count
    ]
    return "\n".join(filter(None, parts))


_HEAD = ("KIND", "NAME", "VMS", "PINNED", "REVISION", "UNVERSIONED", "DRIFTED", "STATE", "FINDINGS")
_MORE = ("WHAT", "VMS", "WHICH")
_A = {"instancetype": "an instancetype", "preference": "a preference"}


def _row(each: InstancetypeReport) -> tuple[str, ...]:
    more = "" if each.complete else " or more"
    users = (str(each.users[mode]) for mode in ("pinned", "revision", "unversioned"))
    findings = ", ".join(f"{count} {reason}" for reason, count in each.findings.items())
    return (
        kind_word(each.kind),
        each.path,
        f"{each.vms}{more}",
        *users,
        str(each.drifted),
        _state(each),
        findings or "-",
    )


def _state(each: InstancetypeReport) -> str:
    parts = [
        each.state if each.state != "present" else "",
        f"being deleted since {each.deleting_since}" if each.deleting_since else "",
        "deprecated" if each.deprecated else "",
    ]
    return ", ".join(filter(None, parts)) or "-"


def _details(each: InstancetypeReport) -> tuple[str, list[tuple[str, ...]]]:
    """What is to be known before it is changed or deleted; nothing of one that nobody depends on."""
    rows: list[tuple[str, ...]] = []
    fail = "fail already" if each.state == "missing" else "fail without it"
    if each.dependents:
        which = named([vm.path for vm in each.first_dependents], each.dependents, most=10)
        rows.append((fail, str(each.dependents), which))
    if each.pools:
        pools = named([pool.path for pool in each.first_pools], each.pools, most=10)
        rows.append((fail, "-", f"the next VMs of pool {pools}"))
    if each.broken:
        rows.append(
            (
                "fail already",
                str(each.broken),
                "their ControllerRevision is missing or can't be decoded; `steward check` names them",
            )
        )
    if each.drifted:
        rows.append(("have a copy that differs", str(each.drifted), named(list(each.fields), most=10)))
    if rows and each.safe:
        rows.append(("go on without it", str(each.safe), "each by its ControllerRevision"))
    return f"{one_line(kind_word(each.kind))} {one_line(each.path, 320)}:\n", rows


def _lacking(found: Instancetypes, check: str) -> Iterator[str]:
    if found.not_applicable:
        yield f"not applicable: {found.not_applicable}"
    elif found.unseen:
        how = "the answer is incomplete" if found.objects else "nothing is counted"
        yield f"{how} while {', '.join(found.unseen)} can't be seen; {check} says why, and what to add"


def _code(found: Instancetypes, in_time: bool) -> int:
    blind = bool(found.not_applicable or found.unseen) or not all(each.complete for each in found.objects)
    return exit_code(unknown=blind or not in_time)


run = CommandQuestion(
    QUESTION,
    text=lambda found, _, columns, __: listed_instancetypes(found, columns),
    code=_code,
    formats={"name": lambda found: "".join(f"{each.kind.lower()}/{each.path}\n" for each in found.objects)},
    chosen=chosen,
    lacking=_lacking,
).run
