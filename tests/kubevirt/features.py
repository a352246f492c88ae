"""VMs that ask for what an admin can switch off, and what KubeVirt's webhooks say of them while it is off.

The rows are in features.yaml. `table` is what docs/features.md shows of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from tests.kubevirt.releases import RELEASE, Release, release
from tests.kubevirt.sizes import INSTANCETYPE, PREFERENCE
from tests.manifests import Loader, Object

__all__ = ["ALL", "NOTHING", "OLD", "ROWS", "VERBS", "Row", "phases", "switched_off", "switched_on", "table"]

VERBS = ("create", "edit", "start", "vmi")
NOTHING = ""  # no refusal
_LISTED = Path(__file__).with_suffix(".yaml")
_CAN_DISABLE: Release = (1, 8)  # the first release with a list of gates that are to be off


@dataclass(frozen=True)
class Row:
    name: str
    feature: str = ""
    says: str = NOTHING
    also: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    gates: tuple[str, ...] = ()
    setting: str = ""
    forbidden: Object = field(default_factory=dict)
    asks: tuple[str, ...] = VERBS
    edit: str | None = None
    start: str | None = None
    vmi: str | None = None
    domain: Object = field(default_factory=dict)
    spec: Object = field(default_factory=dict)
    annotations: Object = field(default_factory=dict)
    strategy: str = "Halted"
    instancetype: Object | None = None
    preference: Object | None = None
    bare: bool = True  # without an interface, unless `domain` has some
    alone: bool = False
    old: bool = False

    def refusal(self, verb: str) -> str:
        """What is said to who tries; NOTHING if that is allowed."""
        other: str | None = getattr(self, verb, None)
        return self.says if other is None else other

    @property
    def known(self) -> bool:
        """Whether the KubeVirt of these tests refuses it like this."""
        return release(self.since or "0.0") <= RELEASE and not (self.until and release(self.until) < RELEASE)

    @property
    def asked_for(self) -> set[str]:
        return {self.feature, *self.also} - {""}

    def vm(self, namespace: str, name: str = "") -> Object:
        matchers = {"instancetype": (self.instancetype, INSTANCETYPE), "preference": (self.preference, PREFERENCE)}
        given = {role: {"name": self.name, "kind": kind} for role, (spec, kind) in matchers.items() if spec}
        template = {"metadata": {"annotations": self.annotations}, "spec": self._spec()}
        return {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachine",
            "metadata": {"namespace": namespace, "name": name or self.name},
            "spec": {"runStrategy": self.strategy, "template": template, **given},
        }

    def vmi_of(self, namespace: str, name: str) -> Object:
        meta = {"namespace": namespace, "name": name, "annotations": self.annotations}
        return {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstance",
            "metadata": meta,
            "spec": self._spec(),
        }

    def _spec(self) -> Object:
        none: Object = {"autoattachPodInterface": False} if self.bare else {}
        devices = {**none, **self.domain.get("devices", {})}
        sized = "memory" in self.domain or self.instancetype is not None
        memory: Object = {} if sized else {"resources": {"requests": {"memory": "64Mi"}}}
        return {**self.spec, "domain": {**memory, **self.domain, "devices": devices}}


def _row(given: Object) -> Row:
    lists = {key: tuple(value) for key, value in given.items() if key in ("also", "gates", "asks")}
    return Row(**{**given, **lists})


ALL = tuple(map(_row, yaml.load(_LISTED.read_text(encoding="utf-8"), Loader)))
ROWS = tuple(row for row in ALL if row.known and not row.old)
OLD = tuple(row for row in ALL if row.known and row.old)


def phases() -> Iterator[tuple[Row, ...]]:
    """What is switched off at once."""
    yield tuple(row for row in ROWS if not row.alone)
    yield from ((row,) for row in ROWS if row.alone)


def switched_on(before: Object) -> Object:
    """The KubeVirt object's configuration, as it was, with all that a row asks for."""
    return _with_gates(before, _gates(ROWS), off=[])


def switched_off(before: Object, rows: Iterable[Row]) -> Object:
    """The same without what these rows ask for."""
    listed = list(rows)
    after = _with_gates(before, _gates(ROWS), off=_gates(listed))
    for row in listed:
        after = _merged(after, row.forbidden)
    return after


def _gates(rows: Iterable[Row]) -> list[str]:
    return sorted({gate for row in rows for gate in row.gates})


def _with_gates(before: Object, more: Iterable[str], *, off: list[str]) -> Object:
    developer = dict(before.get("developerConfiguration", {}))
    developer["featureGates"] = sorted({*developer.get("featureGates", ()), *more} - {*off})
    if RELEASE >= _CAN_DISABLE:
        developer["disabledFeatureGates"] = off
    return {**before, "developerConfiguration": developer}


def _merged(into: Object, patch: Object) -> Object:
    inner: dict[str, Any] = {
        key: _merged(into.get(key) or {}, value) if isinstance(value, dict) else value for key, value in patch.items()
    }
    return {**into, **inner}


# -- the table of docs/features.md

_HEAD = ("feature", "needs", "releases", "create", "edit", "start", "new VMI", "what the webhook says")


def table() -> str:
    own = [
        row for row in ALL if row.feature and row.instancetype is None
    ]  # what a size asks for is refused as what a VM asks for
    rows = dict.fromkeys(_cells(row) for row in sorted(own, key=lambda row: row.feature))
    lines = [_HEAD, ("---",) * len(_HEAD), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _cells(row: Row) -> tuple[str, ...]:
    needs = ", ".join(f"`{gate}`" for gate in row.gates[:1]) or (f"not `{row.setting}`" if row.setting else "no way")
    verdicts = [_verdict(row, verb) for verb in VERBS]
    said = [f"`{words}`" for words, _ in groupby(filter(None, (row.refusal(verb) for verb in ("create", "edit"))))]
    return (f"`{row.feature}`", needs, _span(row), *verdicts, "; edit: ".join(said))


def _verdict(row: Row, verb: str) -> str:
    if verb not in row.asks:
        return ""
    return "denied" if row.refusal(verb) else "allowed"


def _span(row: Row) -> str:
    if row.since == row.until:
        return row.since or "all"
    return " ".join(f"{word} {release}" for word, release in (("from", row.since), ("to", row.until)) if release)
