"""Runs the tests that CI leaves out, tier by tier, and records what came of them; `make tiers` calls it.

A tier is a row of tiers.toml: a command, and the paths that it is there for. It is behind by the commits that touched
these paths since the commit at which it last passed. Without names, the tiers that are behind run, and those whose last
run didn't pass; `networks` or `kubevirt` names a tier or all tiers of a row, and `--table` only prints.

docs/tiers.json has of each tier the last run that passed (`passed`), a later one that didn't (`failed`), and what it
lacked where it couldn't run (`not run`). A record names a commit, so a checkout with changes is refused, and a run is
not recorded if the checkout changes meanwhile. An interrupted run isn't recorded either.

Exit code 1 where a tier didn't pass, or one that was named can't run; 2 where nothing was tried.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import tally

__all__ = ["RECORDS", "TABLE", "Tier", "behind", "counted", "main", "record", "records", "since", "tiers"]

TOP = Path(__file__).resolve().parents[2]
TABLE = "tests/tools/tiers.toml"
RECORDS = "docs/tiers.json"
SUPPORT = "docs/support.md"  # is made from the records
# A run is recorded as that of all tests of a tier, so variables that take a part of them, or others, don't reach it.
NOT_FOR_A_TIER = frozenset(
    ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "TIERS", "ROOM", "KUBERNETES", "KUBEVIRT", "PYTHONS", "EXAMPLES", "MUTANTS")
)
NEVER = "never recorded"
NOT_KNOWN = "not known: the commit is not in this clone"

Record = dict[str, Any]


@dataclass(frozen=True)
class Tier:
    """One row of tiers.toml, which says what each field means, for one of the values of `each`."""

    name: str
    row: str
    run: str
    minutes: float
    paths: tuple[str, ...]
    needs: tuple[tuple[str, str], ...]


def tiers(top: Path = TOP) -> list[Tier]:
    return list(_tiers(tomllib.loads((top / TABLE).read_text(encoding="utf-8"))))


def _tiers(rows: Mapping[str, Any]) -> Iterator[Tier]:
    for name, row in rows.items():
        for each in row.get("each", [""]):
            run, *paths = (text.replace("{each}", each) for text in (row["run"], *row["paths"]))
            needs = ((need["what"], need["asks"]) for need in row.get("needs", ()))
            filled = tuple((what.replace("{each}", each), asks.replace("{each}", each)) for what, asks in needs)
            yield Tier(f"{name}-{each}" if each else name, name, run, row["minutes"], tuple(paths), filled)


def records(top: Path = TOP) -> dict[str, Record]:
    """What docs/tiers.json has of each tier, by its name."""
    file = top / RECORDS
    found: dict[str, Record] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def record(top: Path, name: str, entry: Record) -> None:
    """Puts the record of a tier in place of the one that is there, in one step; one of a tier that is gone goes too."""
    found = records(top) | {name: entry}
    kept = {tier.name: found[tier.name] for tier in tiers(top) if tier.name in found}
    half_done = top / f"{RECORDS}.{os.getpid()}"
    try:
        half_done.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
        half_done.replace(top / RECORDS)
    finally:
        half_done.unlink(missing_ok=True)


def counted(run: Record) -> str:
    """The counts of a run in words: `101 passed, 2 skipped`."""
    counts = run["counts"]
    return ", ".join(f"{counts[word]:,} {word}" for word in tally.COUNTED if word in counts) or "no tests"


def since(entry: Record) -> str:
    """What happened to a tier after it last passed; empty if nothing did."""
    if run := entry.get("failed"):
        return f"{run['result']} at {run['commit'][:9]} on {run['date']}: {counted(run)}"
    return f"not run: it needs {entry['not run']}" if "not run" in entry else ""


def _git(top: Path, *words: str) -> str | None:
    """What git prints; None where it fails, or where there is none."""
    try:
        done = subprocess.run(["git", *words], cwd=top, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip("\n") if done.returncode == 0 else None


def behind(top: Path, tier: Tier, entry: Record) -> int | None:
    """How many commits touched its paths since it last passed; None if it never did, or this clone lacks the commit."""
    commit = entry.get("passed", {}).get("commit")
    if commit is None or _git(top, "cat-file", "-e", f"{commit}^{{commit}}") is None:
        return None
    number = _git(top, "rev-list", "--count", f"{commit}..HEAD", "--", *tier.paths)
    return None if number is None else int(number)


def _how_far(top: Path, tier: Tier, entry: Record) -> str:
    if "passed" not in entry:
        return NEVER
    commits = behind(top, tier, entry)
    if commits is None:
        return NOT_KNOWN
    return f"{commits} commit{'s' if commits > 1 else ''}" if commits else "up to date"


def _table(top: Path, chosen: Sequence[Tier], done: Mapping[str, Record]) -> Iterator[str]:
    rows = [("tier", "behind", "last passed", "minutes", "tests", "since then")]
    for tier in chosen:
        entry = done.get(tier.name, {})
        run = entry.get("passed")
        last = (f"{run['commit'][:9]} {run['date']}", str(run["minutes"]), counted(run)) if run else ("", "", "")
        rows.append((tier.name, _how_far(top, tier, entry), *last, since(entry)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def _changed(top: Path, tier: Tier, entry: Record) -> str:
    """The files of its paths that differ from those with which it last passed, a line each."""
    if not behind(top, tier, entry):
        return ""
    return _git(top, "diff", "--name-only", entry["passed"]["commit"], "HEAD", "--", *tier.paths) or ""


def _uncommitted(top: Path, *options: str) -> str:
    """Why a run can't be recorded with the commit that is checked out; empty if it can."""
    apart = (f":(exclude){path}" for path in (RECORDS, SUPPORT))  # the next tier runs before they are committed
    status = _git(top, "status", "--porcelain", *options, "--", ".", *apart)
    if status is None:
        return "there is no git checkout here"
    files = [line[3:] for line in status.splitlines()]
    if len(files) > 1:
        return f"{files[0]} and {len(files) - 1} more are not committed"
    return f"{files[0]} is not committed" if files else ""


def _missing(top: Path, tier: Tier) -> tuple[str, str]:
    """What it needs and isn't there, and what came back where it was asked for; both empty if all is there."""
    for what, asks in tier.needs:
        done = subprocess.run(asks, shell=True, cwd=top, capture_output=True, text=True, check=False)
        if done.returncode:
            return what, next(iter((done.stderr + done.stdout).splitlines()), f"exit code {done.returncode}")
    return "", ""


def _called(top: Path, command: str, env: Mapping[str, str]) -> int:
    """Its exit code. What ends this process ends all that the command has started."""
    child = subprocess.Popen(shlex.split(command), cwd=top, env=env, start_new_session=True)
    try:
        return child.wait()
    except BaseException as end:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGINT if isinstance(end, KeyboardInterrupt) else signal.SIGTERM)
        child.wait()
        raise


def _ran(top: Path, tier: Tier) -> Record:
    """Runs it; gives the result, minutes and counts."""
    with tempfile.TemporaryDirectory(prefix="steward-tier-") as folder:
        file = Path(folder, "tally")
        kept = {name: value for name, value in os.environ.items() if name not in NOT_FOR_A_TIER}
        began = time.monotonic()
        code = _called(top, tier.run, {**kept, "PYTEST_ADDOPTS": f"-p {tally.__name__}", tally.VARIABLE: str(file)})
        minutes = round((time.monotonic() - began) / 60, 1)
        counts = tally.total(file)
    good = counts.get("passed", 0) + counts.get("caught", 0)
    result = "failed" if code or "failed" in counts else "passed" if good else "nothing passed"
    return {"result": result, "minutes": minutes, "counts": counts}


def _tried(top: Path, tier: Tier) -> str:
    """Runs a tier and records it, or says why not. The result, `not run` among them."""
    entry = records(top).get(tier.name, {})
    needed, came_back = _missing(top, tier)
    if needed:
        print(f"== {tier.name}: not run, it needs {needed} ({came_back})", flush=True)
        record(top, tier.name, {**entry, "not run": needed})
        return "not run"
    commit = _git(top, "rev-parse", "HEAD")
    print(f"== {tier.name}: {tier.run}, usually {_minutes(tier, entry):.0f} minutes", flush=True)
    run = {"commit": commit, "date": datetime.now(UTC).date().isoformat(), **_ran(top, tier)}
    print(f"== {tier.name}: {run['result']}, {counted(run)}, {run['minutes']} minutes", flush=True)
    if _git(top, "rev-parse", "HEAD") != commit or _uncommitted(top, "--untracked-files=no"):
        print(f"== {tier.name}: not recorded, the checkout changed while it ran", flush=True)
        return "not recorded"
    last = {"passed": entry["passed"]} if "passed" in entry else {}
    record(top, tier.name, {"passed": run} if run["result"] == "passed" else {**last, "failed": run})
    return str(run["result"])


def _minutes(tier: Tier, entry: Record) -> float:
    return float(entry["passed"]["minutes"] if "passed" in entry else tier.minutes)


def main(words: Sequence[str], top: Path = TOP) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.tiers", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help="tiers or rows of tiers.toml; without one, what is behind")
    parser.add_argument("--table", action="store_true", help="only print how far behind each is")
    parser.add_argument("--list", action="store_true", help="only print that, and which files changed")
    given = parser.parse_args(words)
    every, done = tiers(top), records(top)
    unknown = set(given.names) - {name for tier in every for name in (tier.name, tier.row)}
    if unknown:
        there = ", ".join(tier.name for tier in every)
        print(f"no tier {', '.join(sorted(unknown))}; there are {there}", file=sys.stderr)
        return 2
    chosen = [tier for tier in every if not given.names or {tier.name, tier.row} & set(given.names)]
    if given.table or given.list:
        print("\n".join(_table(top, chosen, done)))
        for tier in chosen if given.list else ():
            if files := _changed(top, tier, done.get(tier.name, {})):
                print(f"\n{tier.name}:\n{files}")
        return 0
    if not given.names:
        entries = ((tier, done.get(tier.name, {})) for tier in every)
        chosen = [tier for tier, entry in entries if behind(top, tier, entry) != 0 or "failed" in entry]
    if chosen and (why_not := _uncommitted(top)):
        print(f"nothing was run: a record names the commit that was tested, and {why_not}", file=sys.stderr)
        return 2
    chosen.sort(key=lambda tier: _minutes(tier, done.get(tier.name, {})))
    results = {_tried(top, tier) for tier in chosen}
    print("\n".join(_table(top, every, records(top))))
    if records(top) != done:
        print(f"{RECORDS} has changed: run `make generate`, and commit it with {SUPPORT}")
    fine = {"passed"} if given.names else {"passed", "not run"}
    return 0 if results <= fine else 1


def _end(number: int, _: object) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) == signal.SIG_DFL:  # else whoever called wants it ignored
            signal.signal(ending, _end)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
