"""What the commands share that look once, at a cluster or at a dump of one, and print a report."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...facts.times import Since
from ...offline.source import Progress, ReadTally
from ...questions.findings import Report
from ..output.text.layout import Aim
from ..output.text.terminal import complain, one_line
from .filters import UsageError


def of_running(arguments: argparse.Namespace) -> bool:
    """Whether a running steward is asked, or an option is given that is for one."""
    given = (arguments.exporter, arguments.token_file, arguments.ca_file, arguments.server_name)
    return any(given)


def refuse_both(arguments: argparse.Namespace) -> None:
    """Raises UsageError where a running steward is named, and something else to look at."""
    if arguments.exporter and arguments.dump:
        raise UsageError("--exporter asks a running steward, and --from reads a dump; give one of them")
    for name in ("token_file", "ca_file", "server_name"):
        if getattr(arguments, name) and not arguments.exporter:
            raise UsageError(f"--{name.replace('_', '-')} is for a running steward; it needs --exporter")


def aim_of(arguments: argparse.Namespace) -> Aim:
    """Where the arguments look."""
    client = _given(arguments, ("kubeconfig", "context"))
    more = _given(arguments, ("dump", "exporter", "token_file", "ca_file", "server_name"))
    return Aim(client, f"{client}{more}{' --complete' if getattr(arguments, 'complete', False) else ''}")


def _given(arguments: argparse.Namespace, names: Iterable[str]) -> str:
    text = ""
    for name in names:
        given = getattr(arguments, name, None) or ()
        option = "--from" if name == "dump" else f"--{name.replace('_', '-')}"
        values = given if isinstance(given, list | tuple) else (given,)
        text += "".join(f" {option} {shlex.quote(str(value))}" for value in values)
    return text


def refuse_complete_without_dump(arguments: argparse.Namespace) -> None:
    """Raises UsageError for --complete without a dump."""
    if not arguments.dump and arguments.complete:
        raise UsageError("--complete says what a dump holds; it needs --from")


def complain_if_late(arguments: argparse.Namespace, in_time: bool) -> None:
    if not in_time:
        complain(f"not everything was seen within {arguments.timeout:.0f} s")


# What a single look knows of times: what an object says. It is no witness of anything before.

_SEEN = (Since.FIRST_SEEN.value, Since.SOURCE.value)
T = TypeVar("T")


def undated(report: Report) -> Report:
    """Without the moment of the look where that would be taken for the beginning of what it found."""
    findings = [replace(each, since="") if each.since_source in _SEEN else each for each in report.findings]
    causes = report.causes
    if isinstance(causes, list):
        causes = [replace(each, since="") if each.since_source in _SEEN else each for each in causes]
    return replace(report, findings=findings, causes=causes)


def all_undated(report: T) -> T:
    """The same of any report, however deep in it a time is."""
    made: Any = _undated(report)
    return made  # type: ignore[no-any-return]


def _undated(value: Any) -> Any:
    if isinstance(value, Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        changed = {name: new for name, of in fields.items() if (new := _undated(of)) is not of}
        if fields.get("since") and fields.get("since_source") in _SEEN:
            changed["since"] = ""
        return replace(value, **changed) if changed else value
    if isinstance(value, tuple | list):
        new = [_undated(each) for each in value]
        same = all(one is other for one, other in zip(new, value, strict=True))
        return value if same else type(value)(new)
    return value


# The progress of reading a dump, as one line on a terminal; nothing without a terminal.

_EVERY = 0.1  # seconds between two updates


@contextmanager
def progress_line(of: str = "") -> Iterator[Progress]:
    """The line disappears when the block ends. `of` is the name of the dump's cluster."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    shown_at = 0.0

    def show(tally: ReadTally) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at >= _EVERY:
            shown_at = time.monotonic()
            _write(f"\r\x1b[Kreading{f' {one_line(of)}' if of else ''}: {tally}")

    try:
        yield show
    finally:
        _write("\r\x1b[K")


def _write(text: str) -> None:
    """A terminal that is gone ends nothing."""
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
