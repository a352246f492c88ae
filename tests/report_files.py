"""What people reported of their clusters, as files of tests/reports: the report in our words, the objects as a dump of
that cluster would have them, what has to be said, and what is said.

`objects` are put over those of `base`, a file of tests/reports/base: an object of the same kind, namespace and name is
merged into the earlier one as a JSON merge patch does it (null takes a field away, a list is replaced). `twin` is the
same cluster without the fault: `objects` over the base alone, or `changes` over the report's own, of which those named
by `without` are gone.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.case_files import CaseError
from tests.manifests import Loader, Object
from tests.shared import REPO

__all__ = ["FILES", "SEVERITIES", "ReportFile", "loaded"]

FOLDER = REPO / "tests/reports"
FILES = sorted(FOLDER.glob("*.yaml"))
AREAS = ("drains", "features", "identity", "instancetypes", "networks")
SEVERITIES = ("info", "warning", "critical")
VISIBLE = ("yes", "partly", "no")
VERDICTS = ("right", "partly", "silent", "wrong", "not visible")
_NEEDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("address", "area", "reported", "cause", "facts"), str),
    "visible": (str, bool),  # YAML's yes and no
}
_MAY: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("base", "at", "first", "verdict", "why"), str),
    **dict.fromkeys(("objects", "finds", "unknown"), list),
    **dict.fromkeys(("expected", "twin"), dict),
}
_EXPECTED = {"about", "says", "next", "at_least"}
_FOUND = {"reason", "about", "severity", "says", "next"}
_TWIN = ({"objects"}, {"changes"}, {"without"}, {"changes", "without"})


@dataclass(frozen=True)
class ReportFile:
    """One report. `objects` and `twin` are whole dumps; `verdict` is empty until somebody has graded it."""

    name: str
    visible: str
    at: str
    objects: tuple[Object, ...]
    twin: tuple[Object, ...] | None
    verdict: str
    why: str
    finds: tuple[Mapping[str, str], ...]
    unknown: frozenset[str]  # checks that have no answer there, such as those of features in an old KubeVirt
    expected: Mapping[str, str]


@cache
def loaded(path: Path) -> ReportFile:
    """Raises CaseError, in a sentence that begins with the file, where it is not of this form."""
    text = path.read_text(encoding="utf-8")
    try:
        found = yaml.load(text, Loader=Loader)
    except yaml.YAMLError as error:
        raise CaseError(f"{path}: this is not YAML: {error}") from error
    visible = {True: "yes", False: "no"}.get(found.get("visible"), found.get("visible"))  # YAML's yes and no
    if why := next(_wrong(found, visible), ""):
        raise CaseError(f"{path}: {why}")
    base = _base(found["base"]) if "base" in found else []
    objects = _over(base, found.get("objects", ()))
    return ReportFile(
        name=path.stem,
        visible=visible,
        at=found.get("at", "2026-03-10T12:00:00Z"),
        objects=tuple(objects),
        twin=_twin(found["twin"], base, objects) if "twin" in found else None,
        verdict=found.get("verdict", ""),
        why=found.get("why", ""),
        finds=tuple(found.get("finds", ())),
        unknown=frozenset(found.get("unknown", ())),
        expected=found.get("expected", {}),
    )


def named(thing: Object) -> str:
    """`VirtualMachine tenant/db`, as findings name it."""
    meta = thing["metadata"]
    return f"{thing['kind']} {meta['namespace'] + '/' if meta.get('namespace') else ''}{meta['name']}"


def _wrong(found: Any, visible: Any) -> Iterator[str]:
    if not isinstance(found, dict):
        yield "a mapping is expected"
        return
    yield from (f"lacks `{field}`" for field in _NEEDS if field not in found)
    for field, value in found.items():
        kind = (_NEEDS | _MAY).get(field)
        if kind is None:
            yield f"has `{field}`, which is none of {', '.join(_NEEDS | _MAY)}"
        elif not isinstance(value, kind):
            yield f"has a `{field}` of another form: {value!r:.60}"
    if found["area"] not in AREAS or visible not in VISIBLE:
        yield f"`area` is one of {', '.join(AREAS)}, `visible` of {', '.join(VISIBLE)}"
    if visible != "no":
        yield from (f"lacks `{field}`" for field in ("objects", "expected") if field not in found)
        if set(found["expected"]) != _EXPECTED or found["expected"]["at_least"] not in SEVERITIES:
            yield f"`expected` has {', '.join(sorted(_EXPECTED))}, and `at_least` a severity"
    if "twin" in found and set(found["twin"]) not in _TWIN:
        yield "`twin` has `objects`, or `changes` and `without`"
    if {found.get("verdict", VERDICTS[0]), found.get("first", VERDICTS[0])} - set(VERDICTS):
        yield f"`verdict`, and `first` where that of the first run differs, is one of {', '.join(VERDICTS)}"
    yield from _wrong_verdict(found, visible)


def _wrong_verdict(found: Any, visible: str) -> Iterator[str]:
    verdict = found.get("verdict")
    if verdict is None:
        return
    if verdict != "right" and not found.get("why"):
        yield f"`why` says why the verdict is {verdict}"
    if visible != "no" and verdict == "not visible":
        yield "what is visible has another verdict than `not visible`"
    if visible == "no" and verdict not in ("not visible", "wrong"):
        yield "of what is not visible the verdict is `not visible`, or `wrong` for a false alarm"
    for each in found.get("finds", ()):
        if set(each) != _FOUND or each["severity"] not in SEVERITIES:
            yield f"each of `finds` has {', '.join(sorted(_FOUND))}: {each!r:.80}"


@cache
def _base(name: str) -> list[Object]:
    with (FOLDER / "base" / f"{name}.yaml").open(encoding="utf-8") as file:
        return [document for document in yaml.load_all(file, Loader=Loader) if document]


def _twin(twin: Object, base: list[Object], objects: list[Object]) -> tuple[Object, ...]:
    if "objects" in twin:
        return tuple(_over(base, twin["objects"]))
    without = set(twin.get("without", ()))
    if unknown := without - {named(each) for each in objects}:
        raise CaseError(f"`without` names what the report does not have: {', '.join(sorted(unknown))}")
    return tuple(each for each in _over(objects, twin.get("changes", ())) if named(each) not in without)


def _over(below: Iterable[Object], above: Iterable[Object]) -> list[Object]:
    found = {(each["kind"], named(each)): copy.deepcopy(each) for each in below}
    for each in above:
        key = each["kind"], named(each)
        found[key] = _merged(found[key], each) if key in found else copy.deepcopy(each)
    return list(found.values())


def _merged(below: Any, above: Any) -> Any:
    """RFC 7386."""
    if not isinstance(above, dict) or not isinstance(below, dict):
        return copy.deepcopy(above)
    found = dict(below)
    for key, value in above.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = _merged(found.get(key, {}), value)
    return found
