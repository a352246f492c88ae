"""Every form of a write that a remediation declares: a planned write of it, and that write with odd values in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from demo.apiserver.writing import patched
from reconcile.plan.annotations import PAUSED
from reconcile.plan.effects import ABSENT, annotation, at, inverse
from reconcile.plan.patterns import Pattern
from reconcile.plan.plan import Add, Create, Delete, Op, Patch, Remove, Replace, Step, Test, escaped
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations
from reconcile.plan.writes import PAUSE, Created, Deleted, Entries, Field, Form, Item, Patched, Path, levels
from tests.evaluation import api_kinds
from tests.manifests import Object
from tests.remediation_cases import made

__all__ = ["ODD", "WRITING", "Sample", "Written", "after", "declared", "holds", "is_allowed", "odd_writes", "samples"]

ODD: tuple[Any, ...] = (ABSENT, None, "x", 7, ["x"], {"x": "y"})

WRITING = [each for each in all_remediations() if any(write.admitted for write in each.writes)]


@dataclass(frozen=True)
class Written:
    """A step, and the object that it is bound to."""

    name: str
    step: Step
    before: Object


@dataclass(frozen=True)
class Sample(Written):
    """A planned write, of a form."""

    form: Form


def declared(remediation: Remediation, step: Step) -> Iterator[Form]:
    """The forms of a remediation for the resource of a step."""
    kind = api_kinds()[step.target.kind]
    subresource = f"/{step.subresource}" if isinstance(step, Patch) and step.subresource else ""
    for write in remediation.writes:
        if (write.group, write.resource) == (kind.group, f"{kind.plural}{subresource}"):
            yield from write.forms


def is_allowed(step: Step, whole: Mapping[str, Any]) -> bool:
    """Whether some form takes a step to an object as the API server has it."""
    if not isinstance(step, Patch):
        return any(holds(form, step, whole) for form in _forms(step))
    new, old = (_trimmed(each) for each in (_served(after(step, whole), whole), dict(whole)))
    return any(isinstance(form, Patched) and form.holds(new, old) for form in _forms(step))


def _forms(step: Step) -> Iterator[Form]:
    """Every form for the resource of a step: those of all remediations, what takes them back, and the pause."""
    for remediation in WRITING:
        for form in declared(remediation, step):
            yield form
            if isinstance(form, Patched) and form.can_go_back:
                yield form.back()
            if isinstance(form, Patched) and not getattr(step, "subresource", ""):
                yield PAUSE


def after(step: Patch, whole: Mapping[str, Any], *more: Op) -> Any:
    return _patched(whole, (*step.ops, *more))


def holds(form: Form, step: Step, whole: Mapping[str, Any], *more: Op) -> bool:
    if isinstance(step, Create):
        return isinstance(form, Created) and form.new.holds(step.manifest)
    if isinstance(step, Delete):
        return isinstance(form, Deleted) and form.old.holds(whole)
    assert isinstance(step, Patch)
    return isinstance(form, Patched) and form.holds(after(step, whole, *more), whole)


def _served(new: Any, old: Mapping[str, Any]) -> Any:
    """What the API server makes of a patched object. Of metadata it leaves out what is empty, keeps the time of a
    deletion, and takes an annotation that is null for an empty one.
    """
    meta = {**new["metadata"], "deletionTimestamp": at(old, "/metadata/deletionTimestamp")}
    for name in ("annotations", "labels"):
        if isinstance(meta.get(name), dict):
            meta[name] = {key: "" if value is None else value for key, value in meta[name].items()}
    empty: tuple[Any, ...] = (ABSENT, None, [], {})
    return {**new, "metadata": {key: value for key, value in meta.items() if value not in empty}}


def _trimmed(whole: Object) -> Object:
    """Without null and maps of nothing where the policy looks into maps: there they are as good as absent, but for
    maps of nothing in the status.
    """
    for path in reversed(_maps()):
        found = at(whole, _pointer(path)) if path else ABSENT
        if found is None or (found == {} and path[:1] != ("status",)):
            whole = _patched(whole, (Remove(_pointer(path)),))
    return whole


@cache
def _maps() -> tuple[Path, ...]:
    """The maps of an object in which the forms of all remediations change fields."""
    return tuple(levels([form for each in WRITING for write in each.writes for form in write.forms]))


@cache
def samples() -> tuple[Sample, ...]:
    """One for each form of each resource, for what takes it back, and for the pause of each resource."""
    return tuple(_samples())


def _samples() -> Iterator[Sample]:
    known: set[tuple[str, str, int]] = set()
    paused: set[str] = set()
    for remediation in WRITING:
        for case, each in made(remediation):
            step, whole = _untested(each.plan.step), dict(each.whole)
            resource = _resource(step)
            for index, form in enumerate(declared(remediation, step)):
                key = remediation.id, resource, index
                if key in known or not holds(form, step, whole):
                    continue
                known.add(key)
                name = f"{remediation.id}-{resource}-{case}"
                yield Sample(name, step, whole, form)
                if isinstance(step, Patch) and not step.subresource and resource not in paused:
                    paused.add(resource)
                    pause = (annotation(whole, PAUSED, "edit war"),)
                    yield Sample(f"{name}-paused", Patch(target=step.target, ops=pause), whole, PAUSE)
                if isinstance(step, Patch) and isinstance(form, Patched) and form.can_go_back:
                    yield _back(name, form, step, whole)


def _untested(step: Step) -> Step:
    """Without what a patch expects, which may be what is odd: its tests, and that a field that it replaces is there."""
    if not isinstance(step, Patch):
        return step
    ops = (op for op in step.ops if not isinstance(op, Test))
    return msgspec.structs.replace(step, ops=tuple(map(_added, ops)))


def _added(op: Op) -> Op:
    key = op.path.rpartition("/")[2]
    return Add(op.path, op.value) if isinstance(op, Replace) and not key.isdecimal() else op


def _resource(step: Step) -> str:
    return (
        f"{step.target.kind}/{step.subresource}" if isinstance(step, Patch) and step.subresource else step.target.kind
    )


def _back(name: str, form: Patched, step: Patch, whole: Object) -> Sample:
    written = after(step, whole)
    found = inverse(step, whole, written)
    assert isinstance(found, Patch), found
    back = _untested(found)
    assert isinstance(back, Patch)
    noted = () if step.subresource else (annotation(after(back, written), PAUSED, "taken back"),)
    return Sample(f"{name}-back", msgspec.structs.replace(back, ops=(*back.ops, *noted)), written, form.back())


def odd_writes() -> Iterator[Written]:
    """Each value of ODD at each path that a form names, in the samples of the forms, and at all that these are in.

    In each sample the policy looks at the maps of all forms: there one sample of a resource is enough. Metadata has its
    types by the API server, whatever the CRD says: for a value of another type one sample of all is enough.
    """
    known: set[tuple[str, Path, str, bool]] = set()
    maps = set(_maps())
    for sample in samples():
        ends = set(_named(sample.form))
        ways = {end[:length] for end in ends for length in range(1, len(end))}
        for path in sorted((ends | ways | maps) - {(), ("metadata",)}):
            for value in ODD:
                typed = path[0] == "metadata" and value is not ABSENT and value is not None
                for of_new, made_odd in ((False, _odd_before), (True, _odd_after)):
                    key = "" if typed else _resource(sample.step), path, repr(value), of_new
                    if key in known and (typed or path not in ends):
                        continue
                    if (write := made_odd(sample, path, value)) is not None:
                        known.add(key)
                        shown = "absent" if value is ABSENT else msgspec.json.encode(value).decode()
                        yield Written(f"{sample.name}: {'to' if of_new else 'from'} {_pointer(path)} {shown}", *write)


def _odd_before(sample: Sample, path: Path, value: Any) -> tuple[Step, Object] | None:
    """None where the value is there already, or there is nothing that it could be in."""
    if isinstance(sample.step, Create) or path == ("metadata", "name"):
        return None
    if (op := _set(sample.before, path, value)) is None:
        return None
    before = _patched(sample.before, (op,))
    return _to(before, sample.step), before


def _to(whole: Object, step: Step) -> Step:
    """The same write where it would fail by what is not there: it brings the maps that it needs, whatever is in their
    place, and takes away nothing that is absent.
    """
    if not isinstance(step, Patch):
        return step
    ops: list[Op] = []
    for op in step.ops:
        made = whole if not ops else _patched(whole, tuple(ops))
        if isinstance(op, Add):
            ops.append(_with_maps(made, op))
        elif at(made, op.path) is not ABSENT:
            ops.append(op)
    return msgspec.structs.replace(step, ops=tuple(ops))


def _with_maps(whole: Object, op: Add) -> Add:
    parts, value = op.path.split("/"), op.value
    while len(parts) > 2 and not isinstance(at(whole, "/".join(parts[:-1])), dict | list):
        value = {parts[-1].replace("~1", "/").replace("~0", "~"): value}
        parts.pop()
    return Add("/".join(parts), value)


def _odd_after(sample: Sample, path: Path, value: Any) -> tuple[Step, Object] | None:
    step, before = sample.step, sample.before
    if isinstance(step, Create):
        op = _set(step.manifest, path, value)
        return (msgspec.structs.replace(step, manifest=_patched(step.manifest, (op,))), before) if op else None
    if not isinstance(step, Patch):
        return None
    if (path[0] == "status") is not (step.subresource == "status"):
        return None  # the API server takes nothing of it
    op = _set(after(step, before), path, value)
    return (msgspec.structs.replace(step, ops=(*step.ops, op)), before) if op is not None else None


def _set(whole: Mapping[str, Any], path: Path, value: Any) -> Op | None:
    pointer = _pointer(path)
    inside, found = at(whole, _pointer(path[:-1])), at(whole, pointer)
    if not isinstance(inside, dict | list) or found == value or (isinstance(inside, list) and found is ABSENT):
        return None
    if value is ABSENT:
        return Remove(pointer)
    return Add(pointer, value) if found is ABSENT else Replace(pointer, value)


def _patched(whole: Mapping[str, Any], ops: tuple[Op, ...]) -> Any:
    return patched(deepcopy(dict(whole)), "application/json-patch+json", msgspec.json.encode(ops))


def _pointer(path: Path) -> str:
    return "".join(f"/{escaped(part)}" for part in path)


def _named(form: Form) -> Iterator[Path]:
    patterns: list[tuple[Path, Pattern]]
    if isinstance(form, Patched):
        patterns = [((), form.old), ((), form.new)]
        for field, path in zip(form.fields, form.paths, strict=True):
            yield path
            if isinstance(field, Item):
                yield (*path, "0")
            if isinstance(field, Entries):
                yield from ((*path, "0", "name"), (*path, "0", field.key))
                patterns += [((*path, "0", field.key), each) for each in (field.to, field.was)]
            if isinstance(field, Field):
                patterns += [(path, each) for each in (field.to, field.was)]
                yield from ((*path, "0", "name") for _ in range(field.named))
    else:
        patterns = [((), form.new if isinstance(form, Created) else form.old)]
    for path, pattern in patterns:
        yield from _within(pattern, path)


def _within(pattern: Pattern, path: Path) -> Iterator[Path]:
    """By what patterns are made of, so that none has to say so: values by their keys, an item, and other patterns."""
    yield path
    for part in vars(pattern).values():
        if isinstance(part, Mapping):
            for key, each in part.items():
                yield from _within(each, (*path, key))
        elif isinstance(part, list):
            for each in part:
                yield from _within(each, path)
        elif hasattr(part, "cel"):
            yield from _within(part, (*path, "0"))
