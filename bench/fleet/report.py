"""docs/performance.md and its plots, of the figures that are kept: `python -m bench.fleet.report`; measures nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.fleet.changes import CHANGES
from bench.fleet.charts import Line, plot
from bench.fleet.subjects import SUBJECTS

__all__ = ["DOCUMENT", "PICTURES", "RESULTS", "WORDS", "document", "pictures"]

RESULTS = Path(__file__).parent / "results.json"
WORDS = RESULTS.with_name("performance.md")
DOCUMENT = Path(__file__).parents[2] / "docs" / "performance.md"
PICTURES = DOCUMENT.parent / "pictures"

Run = dict[str, Any]
Cell = Callable[[Run], str]

_STARVED = 0.2  # of the time, that a process had no CPU; above it latencies are those of the host
_SERVERS = {"real": "a real API server", "stub": "the stub"}
_PLOTS: tuple[tuple[str, str, Callable[[Run], float], Callable[[float], str]], ...] = (
    ("ready", "CPU until ready", lambda run: run["ready"]["cpu"], lambda value: f"{value:,.3g} s"),
    ("memory", "Resident memory once ready", lambda run: run["memory"]["rss"], lambda value: f"{value:,.0f} MiB"),
    ("scrape", "CPU of a scrape", lambda run: run["scrape"]["cpu"] * 1000, lambda value: f"{value:,.3g} ms"),
)


def document(runs: list[Run], words: str) -> str:
    """`words` is what is said around the tables, with a line `<!-- NAME -->` where one belongs."""
    parts = {
        "runs": _runs(runs),
        "plots": "\n\n".join(f"![{title}](pictures/performance-{name}.svg)" for name, title, *_ in _PLOTS),
        "ready": _by_subject(runs, _ready),
        "memory": _by_subject(runs, _memory),
        "scrape": _by_subject(runs, _scrape),
        "samples": _by_subject(runs, _samples),
        "events": _per_event(runs),
        "latency": _latency(runs),
        "turns": _turns(runs),
    }
    for name, text in parts.items():
        words = words.replace(f"<!-- {name} -->", text)
    return words


def pictures(runs: list[Run]) -> dict[str, str]:
    """By the name of the file: each size on the real API server where it was measured there, else on the stub."""
    kept: dict[tuple[str, int], Run] = {}
    for run in sorted(runs, key=lambda each: each["server"] == "real"):
        if not run["revisions"] and not run["unlike"]:
            kept[run["subject"], run["vms"]] = run
    made = {}
    for name, title, value, figure in _PLOTS:
        lines = [
            Line(subject.title, [(vms, value(run)) for (of, vms), run in sorted(kept.items()) if of == key])
            for key, subject in SUBJECTS.items()
        ]
        made[f"performance-{name}.svg"] = plot(title, "VMs", [line for line in lines if line.points], figure)
    return made


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def _groups(runs: list[Run]) -> Iterator[tuple[str, dict[str, Run]]]:
    """A size and its server, and what was measured there, by subject."""
    groups: dict[tuple[int, str, bool, bool], dict[str, Run]] = {}
    for run in runs:
        groups.setdefault((run["vms"], run["server"], run["revisions"], run["unlike"]), {})[run["subject"]] = run
    for (vms, server, revisions, unlike), of in sorted(groups.items(), key=lambda each: each[0]):
        traits = f"{' with revisions' if revisions else ''}{', all unlike' if unlike else ''}"
        yield f"{vms:,}{traits}, {_SERVERS[server]}", of


def _by_subject(runs: list[Run], cell: Cell) -> str:
    rows = [
        [where, *(cell(of[subject]) if subject in of else "" for subject in SUBJECTS)] for where, of in _groups(runs)
    ]
    return _table(["VMs", *(subject.title for subject in SUBJECTS.values())], rows)


def _ready(run: Run) -> str:
    return f"{run['ready']['cpu']:.1f}; {run['ready']['wall']:.0f}"


def _memory(run: Run) -> str:
    memory = run["memory"]
    return f"{memory['rss']:,.0f}; {memory['peak']:,.0f}; {run['memory at the end']['rss']:,.0f}"


def _scrape(run: Run) -> str:
    scrape = run["scrape"]
    return f"{_ms(scrape['cpu'])}; {_ms(scrape['p50'])}; {_ms(scrape['p99'])}"


def _samples(run: Run) -> str:
    return f"{run['scrape']['samples']:,}; {run['scrape']['bytes'] / 1000:,.0f}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.3g}" if seconds < 1 else f"{seconds * 1000:,.0f}"


def _per_event(runs: list[Run]) -> str:
    rows = []
    for where, of in _groups(runs):
        for kind, change in CHANGES.items():
            cells = [f"{of[each]['events'][kind]['cpu'] * 1e6:,.0f}" if each in of else "" for each in SUBJECTS]
            rows.append([where, f"{kind}: {change.meaning}", *cells])
    return _table(["VMs", "event", *(subject.title for subject in SUBJECTS.values())], rows)


def _latency(runs: list[Run]) -> str:
    rows = []
    for where, of in _groups(runs):
        rates = sorted({rate for run in of.values() for rate in run["latency"]}, key=int)
        for rate in rates:
            found = [of[each]["latency"].get(rate) if each in of else None for each in SUBJECTS]
            rows.append([where, f"{int(rate):,}", *(_waits(each) if each else "" for each in found)])
    return _table(["VMs", "events/s", *(subject.title for subject in SUBJECTS.values())], rows)


def _waits(found: Run) -> str:
    """Nothing is said of a process that was kept from work: it would be said of the host."""
    if found["waited for a CPU"] > _STARVED:
        return "not measured: others had the CPU"
    lost = f", {found['unseen']} of {found['changes']} not seen in time" if found["unseen"] else ""
    slower = f" (at {found['sent a second']:,.0f}/s)" if found["reached"] < 0.95 else ""
    waits = f"{found['p50']:.2f}; {found['p99']:.2f}" if "p50" in found else "none seen"
    return f"{waits}; {found['cores, scrapes included']:.2f}{slower}{lost}"


def _turns(runs: list[Run]) -> str:
    timed = [(where, of["steward"]["turns"]) for where, of in _groups(runs) if "steward" in of]
    phases = list(dict.fromkeys(phase for _, turns in timed for phase in turns))
    rows = [[where, *(_turn(turns.get(phase)) for phase in phases)] for where, turns in timed]
    return _table(["VMs", *phases], rows)


def _turn(turn: Run | None) -> str:
    return f"{turn['cpu'] * 1000:.0f}; {turn['wall'] * 1000:,.0f}" if turn else ""


def _runs(runs: list[Run]) -> str:
    rows = []
    for where, of in _groups(runs):
        any_of = next(iter(of.values()))
        loads = [load for run in of.values() for load in run["load"]]
        on = any_of["host"]
        rows.append(
            [
                where,
                any_of["date"],
                any_of["python"],
                f"{on['cores']} cores, {on['model']}, {on['memory']} GiB",
                f"{min(loads):.0f} to {max(loads):.0f}",
            ]
        )
    return _table(["VMs", "date", "Python of the steward and the naive exporter", "host", "load average"], rows)


def main() -> None:
    runs = json.loads(RESULTS.read_text(encoding="utf-8"))
    DOCUMENT.write_text(document(runs, WORDS.read_text(encoding="utf-8")), encoding="utf-8")
    for name, text in pictures(runs).items():
        (PICTURES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
