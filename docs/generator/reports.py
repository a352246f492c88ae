"""docs/reports.md: what people reported of their clusters, and what the steward says of the same objects.

The reports are the files of tests/reports; tests/unit/reports holds each to what `steward check` says of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from .files import NOTE, TOP

__all__ = ["generated"]

_FOLDER = TOP / "tests/reports"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ORDER = ("right", "partly", "silent", "wrong", "not visible")
_SHOWN = {"right": "as expected"}  # a verdict in the words of readers
_MEANING = {
    "right": "what was expected is said, with its advice, and no other advice is",
    "partly": "a part of it is missing, or it is less severe than expected",
    "silent": "nothing is said",
    "wrong": "something false is said, or something harmful is advised",
    "not visible": "no object shows it, and nothing is said",
}

Report = dict[str, Any]


def generated() -> dict[str, str]:
    return {"docs/reports.md": "\n".join(_page(_read())) + "\n"}


def _read() -> list[Report]:
    return [_loaded(path) for path in sorted(_FOLDER.glob("*.yaml"))]


def _loaded(path: Path) -> Report:
    with path.open(encoding="utf-8") as file:
        found: Report = yaml.load(file, Loader=_LOADER)  # noqa: S506 - a safe one
    return found


def _page(reports: list[Report]) -> Iterator[str]:
    yield f"# What people reported\n\n{NOTE}\n"
    yield "Public reports of clusters with KubeVirt, each made into the objects that such a cluster has. What has to be"
    yield "said of them was written down before `steward check` looked at them for the first time, and was not changed"
    yield "since. Where a report has a twin, the same cluster without the fault, nothing above info is said of that.\n"
    yield from _totals(reports)
    for area in sorted({each["area"] for each in reports}):
        yield f"\n## {area}\n"
        yield "| Report | Cause | Verdict |"
        yield "| --- | --- | --- |"
        for each in sorted((each for each in reports if each["area"] == area), key=_rank):
            yield f"| {_link(each['address'])} | {_cell(each['cause'])} | {_verdict(each)} |"


def _totals(reports: list[Report]) -> Iterator[str]:
    counts = Counter(each.get("verdict", "") for each in reports)
    visible = [each for each in reports if each["visible"] not in ("no", False)]
    right = sum(1 for each in visible if each.get("verdict") == "right")
    share = round(100 * right / len(visible)) if visible else 0
    first = sum(1 for each in visible if each.get("first", each.get("verdict")) == "right")
    yield f"Of {len(reports)} reports {len(visible)} are visible in objects, some of them in part. Of {right} of these"
    yield f"({share} %) is said what was expected. At the first run it was {first}: the steward learned the others.\n"
    yield "| Verdict | Reports | Meaning |"
    yield "| --- | --- | --- |"
    yield from (f"| {_SHOWN.get(each, each)} | {counts[each]} | {_MEANING[each]} |" for each in _ORDER)


def _rank(report: Report) -> tuple[int, str]:
    verdict = report.get("verdict", "")
    return (_ORDER.index(verdict) if verdict in _ORDER else len(_ORDER)), report["address"]


def _verdict(report: Report) -> str:
    verdict = str(report.get("verdict", ""))
    said = _SHOWN.get(verdict, verdict)
    return f"{said}: {_cell(report['why'])}" if report.get("why") else said


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _link(address: str) -> str:
    parts = address.removeprefix("https://").split("/")
    known = parts[0] == "github.com" and len(parts) >= 5
    return f"[{parts[2]} {parts[4]}]({address})" if known else f"[{parts[0]}]({address})"
