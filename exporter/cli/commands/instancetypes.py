"""`steward instancetypes`: which VMs refer to each instancetype and preference, and which of them fail without it."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import deque

import msgspec

from ...config.settings import Config
from ...counts.instancetypes import InstancetypeUsage
from ...dump import read_dump
from ...engine.engine import Engine
from ...facts.naming import kind_word, named
from ...offline.files import DumpError
from ...questions.instancetypes import READER, InstancetypeReport, Instancetypes, take
from ...questions.nearest import meant, shortened
from ...questions.trust import exit_code
from ..input.config import configured
from ..input.filters import UsageError
from ..input.once import aim_of, all_undated, complain_if_late, of_running, progress_line, refuse_complete_without_dump
from ..output.text.layout import grid, written
from ..output.text.screen import width
from ..output.text.terminal import complain, one_line, say

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


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    try:
        refuse_complete_without_dump(arguments)
        found, in_time = asyncio.run(_found(arguments, config))
    except (UsageError, DumpError) as error:
        complain(str(error))
        return 2
    say(written(found, arguments.output, lambda each: listed_instancetypes(each, width())), arguments.output)
    complain_if_late(arguments, in_time)
    if found.not_applicable:
        complain(f"not applicable: {found.not_applicable}")
    elif found.unseen:
        how = "the answer is incomplete" if found.objects else "nothing is counted"
        complain(f"{how} while {_these(found)}; `steward check{aim_of(arguments).steward}` says why, and what to add")
    blind = bool(found.not_applicable or found.unseen) or not all(each.complete for each in found.objects)
    return exit_code(unknown=blind or not in_time)


def _these(found: Instancetypes) -> str:
    return f"{', '.join(found.unseen)} can't be seen"


async def _found(arguments: argparse.Namespace, config: Config) -> tuple[Instancetypes, bool]:
    if of_running(arguments):
        from ..input.running import answer_of  # not for a dump

        every = await answer_of(arguments, "/api/v1/instancetypes", Instancetypes)
        return _chosen(every, arguments.name), True
    found, in_time = await (_look if arguments.dump is None else _read)(arguments, config)
    return all_undated(found), in_time


async def _look(arguments: argparse.Namespace, config: Config) -> tuple[Instancetypes, bool]:
    from ..input.looking import looking  # not for a dump

    async with looking(arguments, config) as look:
        steward = look.steward
        return _report(steward.engine, steward.aggregates.of(InstancetypeUsage), arguments.name), look.in_time


async def _read(arguments: argparse.Namespace, config: Config) -> tuple[Instancetypes, bool]:
    path, complete = arguments.dump, arguments.complete
    with progress_line() as progress:
        engine, _ = await read_dump(path, time.time(), config, complete=complete, progress=progress, also=READER.reads)
    return _report(engine, InstancetypeUsage.over(engine.cluster), arguments.name), True


def _report(engine: Engine, usage: InstancetypeUsage, only: str) -> Instancetypes:
    """Raises UsageError where there is neither of the name."""
    deque(usage.settle(), maxlen=0)
    return _chosen(take(engine.cluster, usage, engine.findings(), engine.generation), only)


def _chosen(every: Instancetypes, only: str) -> Instancetypes:
    """Raises UsageError where there is neither of the name."""
    chosen = tuple(each for each in every.objects if only in ("", each.name, each.path))
    if only and not chosen and not every.unseen and not every.not_applicable:
        there = meant(only, (each.path for each in every.objects), "instancetypes and no preferences")
        raise UsageError(f"no instancetype and no preference is called {shortened(only)!r}; {there}")
    return msgspec.structs.replace(every, objects=chosen)
