"""`steward ignore`: acknowledges a cause until a date, by an entry of the exporter's configuration."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...config.documents import add_to_file, entry_lines
from ...config.settings import Config
from ...engine.engine import Engine
from ...findings.causes import moment_of
from ...questions.causes import CauseReport, KnownCause, causes_of, known_causes
from ...questions.trust import exit_code
from ..asking import WRONG, Place, from_anywhere
from ..input.config import configured, sources_of
from ..input.filters import UsageError
from ..input.once import refuse_complete_without_dump
from ..output.findings.check_report import objects_of
from ..output.text.layout import written
from ..output.text.screen import rows_of, width
from ..output.text.terminal import complain, one_line, say

# What is acknowledged, as an entry of a configuration and as a list.

_HEAD = ("CAUSE", "STATE", "UP TO", "UNTIL", "BY", "OF", "BECAUSE")
_STATES = {"over": "over: it alerts again", "worse": "is worse: it alerts", "closed": "no open cause has this id"}


def entry(fields: dict[str, str], comment: str) -> str:
    """To be pasted."""
    lines = entry_lines(fields, comment)
    return "\n".join(("# Put this into the list of the exporter's configuration:", "acknowledged:", *lines)) + "\n"


def summary(cause: CauseReport) -> str:
    return one_line(f"{cause.severity} {cause.reason}, {objects_of(cause)}")


def listed(known: Sequence[KnownCause], causes: Iterable[CauseReport], columns: int | None) -> str:
    if not known:
        return "Nothing is acknowledged.\n"
    of = {each.cause: each for each in causes}
    rows = [
        (
            *(each.cause, _STATES.get(each.state, each.state), each.acknowledged.severity, each.acknowledged.until),
            each.acknowledged.by or "-",
            f"{cause.reason}, {objects_of(cause)}" if (cause := of.get(each.cause)) else "-",
            each.acknowledged.because,
        )
        for each in known
    ]
    return "".join(f"{line}\n" for line in rows_of(_HEAD, rows, columns))


_Seen = tuple[tuple[KnownCause, ...], list[CauseReport], dict[str, str], bool]
"""What each entry comes to, the open causes, the cause of each finding by their ids, and whether all was seen."""
_CLOSED = "closed"


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    try:
        _refuse(arguments)
        known, causes, of, whole = asyncio.run(_seen(arguments, config))
        if arguments.list:
            say(written(known, arguments.output, lambda each: listed(each, causes, width())), arguments.output)
            perhaps = not whole and any(each.state == _CLOSED for each in known)
            if perhaps:
                complain("not everything was seen: a cause that is not open here may be")
            return exit_code(unknown=perhaps)
        return _acknowledge(arguments, known, _named(arguments.cause, causes, of))
    except WRONG as error:
        complain(str(error))
        return 2


def _refuse(arguments: argparse.Namespace) -> None:
    """Raises UsageError for what is missing, or does not go together."""
    refuse_complete_without_dump(arguments)
    if arguments.list:
        if arguments.cause or arguments.write:
            raise UsageError("--list lists what is acknowledged; it takes no cause, and writes nothing")
        return
    if not arguments.cause:
        raise UsageError("name the cause by its id, which `steward check -o wide` shows, or give --list")
    if not arguments.until or not (arguments.because or "").strip():
        raise UsageError("say until when, and why: --until 2026-12-01 --because TEXT")
    for name in ("because", "by"):
        if not (getattr(arguments, name) or "").isprintable():
            raise UsageError(f"--{name} has to be one line of text")
    try:
        until = moment_of(arguments.until)
    except ValueError as error:
        raise UsageError(f"--until: {error}") from None
    if until <= time.time():
        raise UsageError(f"--until {arguments.until} is over already")
    if arguments.write and sources_of(arguments).file is None:
        raise UsageError("--write puts the entry into the file of --config; name it")


async def _seen(arguments: argparse.Namespace, config: Config) -> _Seen:
    async def running() -> tuple[_Seen, bool]:
        from ..input.running import acknowledged_of, report_of  # not for a dump

        known, causes, whole = await acknowledged_of(arguments)
        report = None if arguments.list else await report_of(arguments)
        return (
            known,
            causes,
            {each.fingerprint: each.cause for each in report.findings} if report else {},
            whole,
        ), True

    async def taken(place: Place) -> _Seen:
        return _of(place.engine)

    (known, causes, of, whole), in_time = await from_anywhere(arguments, config, running, taken, views=())
    return known, causes, of, whole and in_time


def _of(engine: Engine) -> _Seen:
    known = known_causes(engine.acknowledged, engine.causes.severity_of, engine.clock())
    causes = causes_of(engine.findings(), engine.checks, known=engine.known)
    whole = not any(engine.unknowns())
    return known, causes, {each.fingerprint: each.cause for each in engine.findings()}, whole


def _named(wanted: str, causes: list[CauseReport], of: dict[str, str]) -> CauseReport:
    """Raises UsageError for an id that is of none, or of several."""
    ids = {each.cause for each in causes if each.cause.startswith(wanted)}
    ids |= {cause for finding, cause in of.items() if finding.startswith(wanted)}
    if len(ids) > 1:
        raise UsageError(f"{len(ids)} causes have an id that begins with {wanted}; write more digits")
    if not ids:
        raise UsageError(
            f"no open cause has the id {wanted[:60]}, and no finding; `steward check -o wide` shows the ids"
        )
    (found,) = ids
    return next(each for each in causes if each.cause == found)


def _acknowledge(arguments: argparse.Namespace, known: tuple[KnownCause, ...], cause: CauseReport) -> int:
    if any(each.cause == cause.cause for each in known):
        raise UsageError(f"the configuration has an entry of cause {cause.cause} already. Change that entry")
    severity = arguments.severity or cause.severity
    fields = {"cause": cause.cause, "until": arguments.until, "because": arguments.because}
    fields |= {"by": arguments.by} if arguments.by else {}
    fields["severity"] = severity
    file = sources_of(arguments).file
    if not arguments.write or file is None:
        say(entry(fields, summary(cause)))
        return 0
    return _write(file, fields, cause)


def _write(file: Path, fields: dict[str, str], cause: CauseReport) -> int:
    try:
        add_to_file(file, fields, summary(cause))
    except (ValueError, OSError) as error:
        why = getattr(error, "strerror", None) or str(error)
        complain(f"{file} is as it was: {why}")
        say(entry(fields, summary(cause)))
        return 2
    say(f"{file} has the entry: {summary(cause)}. A steward that runs with it takes it within seconds.\n")
    return 0
