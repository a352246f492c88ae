"""What whoever has the sidecar's token can write where the policy is there, in words, by the forms of a remediation."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.config.documents import in_yaml
from reconcile.plan.annotations import APPROVED_PLAN, PAUSED
from reconcile.plan.patterns import ANYTHING, BLANK, EMPTY, PRESENT, Begins, Both, Each, Exactly, Has, Is, Like, Pattern
from reconcile.plan.plan import escaped
from reconcile.plan.remediation import Remediation
from reconcile.plan.writes import Changing, Created, Deleted, Entries, Field, Form, Item, Patched

__all__ = ["allowed"]

_SHAPES = {id(ANYTHING): "any or none", id(PRESENT): "any", id(EMPTY): "none", id(BLANK): 'none or ""'}


def allowed(remediation: Remediation) -> Iterator[str]:
    """The lines of a list."""
    found: dict[str, None] = {}
    for write in remediation.writes:
        resource = f"`{write.resource}{f'.{write.group}' if write.group else ''}`"
        if write.admitted:
            found |= {line: None for form in write.forms for line in _form(form, resource)}
        elif not write.resource.endswith("/finalizers"):
            found[f"{' and '.join(write.verbs)} {resource}, which no policy sees"] = None
    if found:
        yield "- Where it may write, the sidecar's token allows this and nothing else, with or without a plan:"
        yield from (f"  - {line}" for line in found)


def _form(form: Form, resource: str) -> Iterator[str]:
    if isinstance(form, Created):
        yield f"create {resource} like `{shape(form.new)}`"
    elif isinstance(form, Deleted):
        yield f"delete {resource} like `{shape(form.old)}`"
    else:
        yield f"patch {resource}{_only(form)}: {'; '.join(_change(each) for each in form.fields)}"
        if form.can_go_back:
            back = form.back()
            own = [escaped(each) for each in (PAUSED, APPROVED_PLAN)]
            changes = "; ".join(_change(each) for each in back.fields if not each.path.endswith(tuple(own)))
            noted = "" if form.fields[0].path.startswith("/status/") else f", together with annotation `{PAUSED}`"
            yield f"and back{noted}: {changes}"


def _only(form: Patched) -> str:
    terms = [
        f"{when} like `{shape(each)}`"
        for when, each in (("that was", form.old), ("that becomes", form.new))
        if each is not ANYTHING
    ]
    return f" {' and '.join(terms)}" if terms else ""


def _change(field: Changing) -> str:
    if isinstance(field, Item):
        return f"{'add' if field.added else 'take off'} `{field.item}` in `{field.path}`"
    path = f"{field.path}/*/{field.key}" if isinstance(field, Entries) else field.path
    was = "" if field.was is ANYTHING else f" from `{shape(field.was)}`"
    names = ", its names as they are" if isinstance(field, Field) and field.named else ""
    return f"`{path}`{was} to `{shape(field.to)}`{names}"


def shape(pattern: Pattern) -> str:
    """A pattern as a person reads it: `…` stands for whatever else is there."""
    if id(pattern) in _SHAPES:
        return _SHAPES[id(pattern)]
    if isinstance(pattern, Is):
        return " or ".join(map(in_yaml, pattern._values))
    if isinstance(pattern, Begins):
        return " or ".join(f"{each}…" for each in pattern._prefixes)
    if isinstance(pattern, Both):
        maps = [each for each in pattern._patterns if isinstance(each, Like)]
        return " and ".join(map(shape, maps or pattern._patterns))
    if isinstance(pattern, Each | Has):
        return f"[{shape(pattern._item)}{', …' if isinstance(pattern, Has) else ''}]"
    assert isinstance(pattern, Like)
    keys = (key if each is ANYTHING else f"{key}: {shape(each)}" for key, each in pattern._values.items())
    return f"{{{', '.join((*keys, *(() if isinstance(pattern, Exactly) else ('…',))))}}}"
