"""The cases of the remediations, and what each of them plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from reconcile.carry_out.confirm import Confirmed
from reconcile.plan import remediations
from reconcile.plan.plan import Refused
from reconcile.plan.remediation import Remediation
from tests.case_files import load
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.evaluation import NOW
from tests.rows import full

__all__ = ["CASES", "answered", "asked", "cases_of", "made", "module_of"]

CASES = Path(__file__).parent / "remediations"
_MAY: Mapping[str, type | tuple[type, ...]] = {
    "refuses": str,
    "because": str,
    "plans": dict,
    "hint": dict,
    "fails": dict,
    "absent": list,
    "later": (int, float),
}


def module_of(name: str) -> ModuleType:
    """A module of the remediations, by its name: that of a remediation, or of what several share."""
    top = Path(remediations.__file__).parent
    (file,) = top.rglob(f"{name}.py")
    return import_module(".".join((remediations.__name__, *file.relative_to(top).with_suffix("").parts)))


@cache
def cases_of(remediation: Remediation) -> dict[str, dict[str, Any]]:
    """The cases, and those of `unseen/`, which were written without a look at the code."""
    return {**_cases(CASES / f"{remediation.id}.yaml"), **_cases(CASES / "unseen" / f"{remediation.id}.yaml")}


def answered(remediation: Remediation, case: Mapping[str, Any]) -> Confirmed | Refused:
    """What the remediation says to a case, which nobody changes afterwards."""
    return _looked(remediation, case).answer


def asked(remediation: Remediation, case: Mapping[str, Any]) -> Sequence[tuple[str, str | None, str | None]]:
    """What is read for that: the kinds, each with a namespace and a name where it is that of one."""
    return _looked(remediation, case).reads.asked


@dataclass(frozen=True)
class _Look:
    case: Mapping[str, Any]  # kept, so that no other one gets its id
    answer: Confirmed | Refused
    reads: MemoryReads


_LOOKS: dict[tuple[str, int], _Look] = {}


def _looked(remediation: Remediation, case: Mapping[str, Any]) -> _Look:
    """Once for each case, by what it is and not by what is in it."""
    key = remediation.id, id(case)
    if key not in _LOOKS:
        objects = [full(row) for row in case["given"]]
        reads = MemoryReads(objects, case.get("fails"), case.get("absent", ()))
        answer = confirmed(remediation, hint_of(case["about"], objects), reads, NOW + case.get("later", 0))
        _LOOKS[key] = _Look(case, answer, reads)
    return _LOOKS[key]


@cache
def made(remediation: Remediation) -> tuple[tuple[str, Confirmed], ...]:
    """The plans of the cases that are carried out, each with the name of its case."""
    return tuple(_made(remediation))


def _made(remediation: Remediation) -> Iterator[tuple[str, Confirmed]]:
    for name, case in cases_of(remediation).items():
        answer = None if "refuses" in case else answered(remediation, case)
        if isinstance(answer, Confirmed) and answer.plan.proposal is None:
            yield name, answer


def _cases(path: Path) -> dict[str, dict[str, Any]]:
    """Each with `_about` and the rows under `_always`, as far as it does not give the same itself."""
    if not path.exists():
        return {}
    loaded: dict[str, Any] = load(path, {"given": list}, _MAY)
    about, always, _ = loaded.pop("_about"), loaded.pop("_always", []), loaded.pop("_undo", {})
    for case in loaded.values():
        given = {(row["kind"], row.get("namespace"), row["name"]) for row in case["given"]}
        case["given"] += [row for row in always if (row["kind"], row.get("namespace"), row["name"]) not in given]
        case["about"] = about | case.get("hint", {})
    return loaded
