"""What a remediation may write: permissions as RBAC has them, and which fields, which RBAC can't say. Pure.

From these a ValidatingAdmissionPolicy is made: what no plan makes, the API server refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .annotations import APPROVED_PLAN, PAUSED, RESUMED
from .effects import ABSENT, at
from .patterns import ANYTHING, EMPTY, PRESENT, At, Both, Like, Pattern, Variables, quoted

Path: TypeAlias = tuple[str, ...]

# Set by the API server with every write.
_BY_SERVER: Mapping[Path, Path] = {("metadata",): ("generation", "managedFields", "resourceVersion")}
# Set in a VM that lacks them by KubeVirt's webhook, whoever writes
# (pkg/virt-api/webhooks/mutating-webhook/mutators/vm-mutator.go of kubevirt/kubevirt).
_BY_WEBHOOK: Mapping[Path, Path] = {
    ("spec", "template", "spec"): ("architecture",),
    ("spec", "template", "spec", "domain"): ("machine",),
    ("spec", "instancetype"): ("kind",),
    ("spec", "preference"): ("kind",),
}


@dataclass(frozen=True)
class Field:
    """A field, by its JSON pointer, that may change from what is like `was` to what is like `to`. With `named` it is a
    list of objects, whose names stay as they are.
    """

    path: str
    to: Pattern = ANYTHING
    was: Pattern = ANYTHING
    named: bool = False

    def back(self) -> Field:
        return Field(self.path, to=self.was, was=self.to, named=self.named)

    def holds(self, new: Any, old: Any) -> bool:
        fits = self.was.holds(old) and self.to.holds(new)
        return _same(new, old) or (fits and (not self.named or _names(new) == _names(old)))

    def cel(self, new: At, old: At) -> str:
        terms = [each.cel(where) for each, where in ((self.was, old), (self.to, new)) if each is not ANYTHING]
        if self.named:
            terms.append(_same_names(new, old))
        return f"({new.value()} == {old.value()} || {' && '.join(terms)})" if terms else ""


@dataclass(frozen=True)
class Item:
    """A list of texts, by its JSON pointer, to which `item` may be added, or from which it may be taken."""

    path: str
    item: str
    added: bool

    def back(self) -> Item:
        return Item(self.path, self.item, not self.added)

    def holds(self, new: Any, old: Any) -> bool:
        before, after = _listed(old), _listed(new)
        if before is None or after is None:
            return _same(new, old)
        rest = [each for each in before if each != self.item] == [each for each in after if each != self.item]
        return rest and (before == after or (self.item in after) is self.added)

    def cel(self, new: At, old: At) -> str:
        item, before, after = quoted(self.item), old.listed(), new.listed()
        there = f"{item} in {after}" if self.added else f"!({item} in {after})"
        rest = f"{after}.filter(x, x != {item}) == {before}.filter(x, x != {item})"
        return _unless_same(new, old, f"{rest}\n&& ({after} == {before} || {there})")


@dataclass(frozen=True)
class Entries:
    """A list of maps, by its JSON pointer, each with a `name`, which stay as they are but for one key of them. That may
    change to what is like `to`.
    """

    path: str
    key: str
    to: Pattern = ANYTHING
    was: Pattern = ANYTHING

    def back(self) -> Entries:
        return Entries(self.path, self.key, to=self.was, was=self.to)

    def holds(self, new: Any, old: Any) -> bool:
        before, after = _listed(old), _listed(new)
        if before is None or after is None:
            return _same(new, old)
        return _names(after) == _names(before) and all(map(self._same, after, before))

    def _same(self, new: Any, old: Any) -> bool:
        if not (isinstance(new, Mapping) and isinstance(old, Mapping)):
            return bool(new == old)
        rest = [{name: each[name] for name in each if name != self.key} for each in (new, old)]
        values = [each.get(self.key, ABSENT) for each in (new, old)]
        return rest[0] == rest[1] and (
            values[0] == values[1] or (self.to.holds(values[0]) and self.was.holds(values[1]))
        )

    def cel(self, new: At, old: At) -> str:
        key, before, after = quoted(self.key), old.listed(), new.listed()
        rest = f"n.all(k, k == {key} || (k in o && o[k] == n[k])) && o.all(k, k == {key} || k in n)"
        pairs = ((self.was, At("o", (self.key,))), (self.to, At("n", (self.key,))))
        terms = " && ".join(each.cel(where) for each, where in pairs if each is not ANYTHING) or "true"
        changed = f"({pairs[0][1].value()} == {pairs[1][1].value()} || {terms})"
        one = f"n == o || type(n) == map && type(o) == map && {rest} && {changed}"
        entries = f"{after}.all(n, {before}.exists(o, {one}))"
        return _unless_same(new, old, f"{_same_names(new, old)}\n&& {entries}")


class Sides:
    """The object of a write before and after it, in CEL, and the levels in which `variables.changed` compares them."""

    def __init__(self, within: Iterable[Path]) -> None:
        self.levels = list(within)
        self.new, self.old = Variables("new", "object"), Variables("old", "oldObject")

    def at(self, path: Path) -> tuple[At, At]:
        return self.new.at(*path), self.old.at(*path)

    def variables(self) -> Iterator[tuple[str, str]]:
        """Those that the expressions made so far refer to."""
        yield from self.new
        yield from self.old


Changing: TypeAlias = Field | Item | Entries
_PAUSED = Field(f"/metadata/annotations/{PAUSED.replace('/', '~1')}", to=PRESENT)
_DISAPPROVED = Field(f"/metadata/annotations/{APPROVED_PLAN.replace('/', '~1')}", to=EMPTY)
_IS_PAUSED = Like(metadata=Like(annotations=Like(**{PAUSED: PRESENT})))


class Patched:
    """A patch of an object that is like `old`, after which it is like `new`, and as before but for some fields.

    With `back` it may be taken back, in an object that is paused with it.
    """

    def __init__(self, *fields: Changing, old: Pattern = ANYTHING, new: Pattern = ANYTHING, back: bool = True) -> None:
        self.fields, self.old, self.new, self.can_go_back = fields, old, new, back

    @property
    def paths(self) -> Iterator[Path]:
        return (_path(each.path) for each in self.fields)

    def back(self) -> Patched:
        """What takes it back, to an object that is like `old` again, and takes off an approval of it; a patch of the
        status can't change an annotation.
        """
        fields: list[Changing] = [each.back() for each in self.fields]
        if self.fields[0].path.startswith("/status/"):
            return Patched(*fields, old=self.new, new=self.old, back=False)
        return Patched(
            *fields, Field(_PAUSED.path), _DISAPPROVED, old=self.new, new=Both(self.old, _IS_PAUSED), back=False
        )

    def holds(self, new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
        """Whether a write that makes an object `new` is this one."""
        own = set(self.paths)
        return (
            self.old.holds(old)
            and self.new.holds(new)
            and all(any(path[: len(each)] == each for each in own) for path in changed(new, old, levels([self])))
            and all(each.holds(at(new, each.path), at(old, each.path)) for each in self.fields)
        )

    def cel(self, sides: Sides) -> str:
        """The same, where `variables.changed` has the paths that change."""
        own = sorted(set(self.paths))
        terms = [f"p in {quoted([_text(each) for each in own])}"]
        terms += [f"p.startsWith({quoted(_text(each) + '/')})" for each in own if each in sides.levels]
        patterns = [(self.old, sides.old.at()), (self.new, sides.new.at())]
        return "\n&& ".join(
            (
                f"variables.changed.all(p, {' || '.join(terms)})",
                *(each.cel(at) for each, at in patterns if each is not ANYTHING),
                *filter(None, (each.cel(*sides.at(_path(each.path))) for each in self.fields)),
            )
        )


@dataclass(frozen=True)
class Created:
    """An object that is created, like `new`."""

    new: Pattern

    def cel(self, sides: Sides) -> str:
        return self.new.cel(sides.new.at())


@dataclass(frozen=True)
class Deleted:
    """The deletion of an object that is like `old`."""

    old: Pattern

    def cel(self, sides: Sides) -> str:
        return self.old.cel(sides.old.at())


Form: TypeAlias = Patched | Created | Deleted
PAUSE = Patched(
    _PAUSED, Field(f"/metadata/annotations/{RESUMED.replace('/', '~1')}", to=EMPTY), _DISAPPROVED, back=False
)
"""The annotation by which an edit war, or whoever takes a write back, pauses an object, in place of one that resumed it
and of an approval. It is never taken off.
"""


@dataclass(frozen=True)
class Write:
    """A permission that a remediation needs: verbs on a resource, such as `ipamclaims.k8s.cni.cncf.io`.

    A subresource is part of the resource, as in RBAC: `virtualmachines/status`. `forms` are what may be written by it;
    nothing else is.
    """

    group: str
    resource: str
    verbs: tuple[str, ...]
    forms: tuple[Form, ...] = field(default=(), compare=False, repr=False)

    @property
    def admitted(self) -> bool:
        """Whether the API server's admission sees such a write.

        It does not see what an aggregated API server answers, such as KubeVirt's subresources; a permission for
        `finalizers` is only asked for, by the admission of owner references.
        """
        return not self.group.startswith("subresources.") and not self.resource.endswith("/finalizers")


def levels(forms: Iterable[Form]) -> list[Path]:
    """The maps of an object in which fields may change, the outer ones first."""
    paths = [path for form in forms if isinstance(form, Patched) for path in form.paths]
    return sorted({("metadata",), *(path[:length] for path in paths for length in range(len(path)))})


def changed(new: Mapping[str, Any], old: Mapping[str, Any], within: Iterable[Path]) -> Iterator[Path]:
    """The fields of these levels that a write changes, as far as it does so by itself.

    A level that is something else than a map, before or after, is one of them itself; and so is a map of nothing that
    comes or goes in the status, where it may mean something. In metadata the API server leaves out such maps, and in
    the spec KubeVirt's webhook puts them in.
    """
    within = list(within)
    for level in within:
        after, before = (_table(whole, level) for whole in (new, old))
        inner = _inner(level, within)
        for key in inner:
            values = [each.get(key) for each in (after, before)]
            if values[0] == values[1]:
                continue
            if not all(each is None or isinstance(each, Mapping) for each in values) or (
                _counts_empty(level) and {} in values and None in values
            ):
                yield (*level, key)
        for key in sorted({*after, *before} - {*inner, *_BY_SERVER.get(level, ())}):
            if key in _BY_WEBHOOK.get(level, ()) and key not in before:
                continue
            if after.get(key, ABSENT) != before.get(key, ABSENT):
                yield (*level, key)


def changed_in_cel(sides: Sides) -> str:
    """The same as an expression. CEL has no object without a field: keys are compared one by one, level by level."""
    return "\n+ ".join(_changed(level, sides) for level in sides.levels)


def _changed(level: Path, sides: Sides) -> str:
    after, before = (at.table() for at in sides.at(level))
    inner = _inner(level, sides.levels)
    aside = sorted({*inner, *_BY_SERVER.get(level, ())})
    other = f"!(k in {quoted(aside)}) && " if aside else ""
    filled = _BY_WEBHOOK.get(level, ())
    other += f"!(k in {quoted(filled)} && !(k in {before})) && " if filled else ""
    found = [
        f"{after}.filter(k, {other}!(k in {before} && {after}[k] == {before}[k]))",
        f"{before}.filter(k, {other}!(k in {after}))",
    ]
    if inner:
        new, old = (At(f"{table}[?k].orValue(dyn(null))") for table in (after, before))
        both = f"[{new.value()}, {old.value()}]"
        empty = f" && !(dyn({{}}) in {both} && dyn(null) in {both})" if _counts_empty(level) else ""
        stays = f"{new.value()} == {old.value()} || {new.may_be('map')} && {old.may_be('map')}{empty}"
        found.append(f"{quoted(inner)}.filter(k, !({stays}))")
    listed = "\n  + ".join(found)
    return f"({listed}).map(k, {quoted(_text(level) + '/')} + k)"


def _counts_empty(level: Path) -> bool:
    return level[:1] == ("status",)


def _inner(level: Path, within: Iterable[Path]) -> list[str]:
    """The keys of a level that are levels themselves."""
    return sorted({path[-1] for path in within if path and path[:-1] == level})


def _same(new: Any, old: Any) -> bool:
    """Whether a value is as it was; null is as good as absent."""
    return bool((None if new is ABSENT else new) == (None if old is ABSENT else old))


def _listed(found: Any) -> list[Any] | None:
    """A list, of nothing where there is none; None for what is of another type."""
    if found is ABSENT or found is None:
        return []
    return found if isinstance(found, list) else None


def _names(listed: Any) -> list[Any]:
    return [each.get("name") if isinstance(each, Mapping) else None for each in _listed(listed) or ()]


def _same_names(new: At, old: At) -> str:
    name = f"type(x) == map ? {At('x', ('name',)).value()} : dyn(null)"
    return f"{new.listed()}.map(x, {name}) == {old.listed()}.map(x, {name})"


def _unless_same(new: At, old: At, expression: str) -> str:
    """An expression of two lists, which nothing fits that is of another type but what stays as it is."""
    return f"({new.value()} == {old.value()}\n|| {new.may_be('list')} && {old.may_be('list')} && {expression})"


def _path(pointer: str) -> Path:
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _text(path: Path) -> str:
    return "".join(f"/{part}" for part in path)


def _table(whole: Mapping[str, Any], level: Path) -> Mapping[str, Any]:
    found: Any = whole
    for key in level:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}
