"""Reads a ledger before it is written on, and repairs what a crash may have left: a last line that was cut off."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from .disk import Disk
from .entry import Entry, opened
from .reading import Chain, Line, lines


def recovered(there: Mapping[int, Path], disk: Disk, chain: Chain) -> Iterator[tuple[Entry, int]]:
    """The entries of files up to the newest, with their numbers; the torn line is then in a file of its own.

    Raises LedgerError for anything else that is not as it was written, and OSError.
    """
    for number, path in there.items():
        for line in lines(path):
            torn = number == max(there) and _torn(line)
            if torn and not _complete(line):
                _move_aside(line, disk)
                return
            yield chain.follow(line), number
            if torn:
                _end(line, disk)
                return


def _complete(line: Line) -> bool:
    """Whether only the line break is missing: such an entry may have been reported as written."""
    try:
        opened(line.content)
    except ValueError:
        return False
    return True


def _torn(line: Line) -> bool:
    """Whether a crash explains it: it has no end, or it is the last one and has blocks that never were written."""
    if not line.ends:
        return True
    return b"\0" in line.content and line.offset + len(line.content) + 1 == line.file.stat().st_size


def _end(line: Line, disk: Disk) -> None:
    file = disk.open(line.file)
    try:
        disk.write(file, b"\n")
        disk.sync(file)
    finally:
        os.close(file)


def _move_aside(line: Line, disk: Disk) -> None:
    content = line.content + b"\n" * line.ends
    name = f"{line.file.stem}-{line.offset}"
    aside = line.file.with_name(f"{name}.torn")
    more = 1
    while aside.exists():
        more += 1
        aside = line.file.with_name(f"{name}-{more}.torn")
    disk.write_new(aside, content)
    disk.sync_directory(aside.parent)
    file = disk.open(line.file)
    try:
        disk.truncate(file, line.offset)
        disk.sync(file)
    finally:
        os.close(file)
