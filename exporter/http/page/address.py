"""What the address of /findings asks for, and the addresses of what is a little different from it."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from ...engine.engine import Engine
from ...views.findings import Filter
from ...views.nearest import nearest
from ...views.selection import AGES, Selection, area_of
from ..html.words import query
from ..server.query import Parameters, number_in, single_in, values_of

SORTS = {
    "severity": "the worst first",
    "age": "the oldest first",
    "objects": "most objects first",
    "change": "most change in the last hour first",
    "reason": "by reason",
}
_MINUTE = 60.0
_OWN = ("area", "since", "cause")  # fields of a selection beside its filter
_VIEW = ("sort", "page", "open")
_MOST_OPEN = 50  # causes that are opened at once


class Address(msgspec.Struct, frozen=True):
    """`opened` are the ids of the causes that are shown with their findings; `page` begins with 1."""

    selection: Selection
    sort: str = "severity"
    page: int = 1
    opened: tuple[str, ...] = ()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What is asked for, without how it is shown."""
        own = self.selection
        fields = [(name, getattr(own.filter, name)) for name in Filter.__struct_fields__]
        fields += [(name, getattr(own, name)) for name in _OWN]
        return [(name, value) for name, values in fields for value in sorted(values)]

    def link(self, **changes: Any) -> str:
        return f"/findings{self.asked(**changes)}"

    def asked(self, **changes: Any) -> str:
        """The query of an address that differs in some fields, with its `?`."""
        other = msgspec.structs.replace(self, **changes)
        pairs = other.pairs
        pairs += [("sort", other.sort)] if other.sort != "severity" else []
        pairs += [("open", each) for each in other.opened]
        pairs += [("page", str(other.page))] if other.page > 1 else []
        return f"?{query(pairs)}" if pairs else ""

    def toggled(self, cause: str) -> str:
        """With one cause opened or closed."""
        if cause in self.opened:
            return self.link(opened=tuple(each for each in self.opened if each != cause))
        return self.link(opened=(*self.opened, cause)[-_MOST_OPEN:])

    def without(self, name: str, value: str) -> str:
        """With one value less."""
        own = self.selection
        if name in _OWN:
            return self.link(selection=msgspec.structs.replace(own, **{name: getattr(own, name) - {value}}), page=1)
        less = msgspec.structs.replace(own.filter, **{name: getattr(own.filter, name) - {value}})
        return self.link(selection=msgspec.structs.replace(own, filter=less), page=1)

    def chosen(self, name: str) -> frozenset[str]:
        """The values that are asked for of a facet."""
        values: frozenset[str] = getattr(self.selection if name in _OWN else self.selection.filter, name)
        return values


class Addresses:
    def __init__(self, engine: Engine) -> None:
        self._clock = engine.clock
        self._parameters = Parameters(engine, (*_OWN, *_VIEW))
        self._known = {"area": sorted({area_of(each.id) for each in engine.checks}), "since": list(AGES)}

    def of(self, request: web.BaseRequest) -> Address:
        """Raises ValueError for what can't be asked for, in one sentence."""
        wanted = self._parameters.filter(request)
        area, since = (self._values(request, name) for name in ("area", "since"))
        sort = single_in(request, "sort") or "severity"
        if sort not in SORTS:
            raise ValueError(f"findings can't be sorted by {sort[:60]!r}; there are: {', '.join(SORTS)}")
        moment = self._clock() // _MINUTE * _MINUTE if since else 0.0
        selection = Selection(wanted, area, since, frozenset(values_of(request, "cause")), moment)
        opened = tuple(dict.fromkeys(values_of(request, "open")))[:_MOST_OPEN]
        return Address(selection, sort, max(1, number_in(request, "page") or 1), opened)

    def _values(self, request: web.BaseRequest, name: str) -> frozenset[str]:
        values = frozenset(values_of(request, name))
        for value in sorted(values.difference(self._known[name])):
            near = nearest(value, self._known[name])
            known = f"did you mean {near}?" if near else f"there are: {', '.join(self._known[name])}"
            raise ValueError(f"there is no {name} {value[:60]!r}; {known}")
        return values
