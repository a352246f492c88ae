"""A plan in words: what it writes, what is created by it, and what one act would mend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

import msgspec

from exporter.findings.causes import Reference

from .plan import Add, Create, Delete, Patch, Plan, Remove, Replace, Test

_LONGEST = 120  # characters of a value in a sentence


def words(reference: Reference) -> str:
    """What one act would mend."""
    where = f" in namespace {reference.namespace}" if reference.namespace else ""
    if reference.kind:
        path = f"{reference.namespace}/{reference.name}" if reference.namespace else reference.name
        return f"{reference.kind} {path}"
    if reference.node:
        return f"node {reference.node}{where}"
    if reference.network:
        return f"network {reference.network}{where}"
    if reference.feature:
        return f"feature {reference.feature}" + (f" ({reference.name})" if reference.name else "") + where
    if reference.group:
        return f"what shares {reference.group}"
    return f"namespace {reference.namespace}" if reference.namespace else "the cluster"


def difference(plan: Plan) -> Iterator[str]:
    """The lines of what is created, with those of what it is compared with; all are new where it is with nothing."""
    if not isinstance(plan.step, Create):
        return
    before, after = _lines(plan.compared.manifest if plan.compared is not None else None), _lines(plan.step.manifest)
    for tag, old, old_end, new, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (f"  {line}" for line in after[new:new_end])
        else:
            yield from (f"- {line}" for line in before[old:old_end])
            yield from (f"+ {line}" for line in after[new:new_end])


def _lines(manifest: Mapping[str, Any] | None) -> list[str]:
    if manifest is None:
        return []
    return msgspec.json.format(msgspec.json.encode(manifest, order="sorted"), indent=2).decode().splitlines()


def sentence(plan: Plan) -> str:
    """The write in one line."""
    step = plan.step
    if isinstance(step, Delete):
        return f"delete {step.target}"
    if isinstance(step, Create):
        return f"create {step.target}"
    if isinstance(step, Patch):
        changes = [op for op in step.ops if not isinstance(op, Test)]
        words = ", ".join(map(_change, changes))
        where = f"/{step.subresource}" if step.subresource else ""
        return f"patch {step.target}{where}: {words}" if words else "nothing"
    return f"call {step.action} of {step.target}"


def _change(op: Add | Replace | Remove) -> str:
    """One operation of a patch, with the value that it writes as JSON."""
    if isinstance(op, Remove):
        return f"remove {op.path}"
    value = msgspec.json.encode(op.value).decode()
    return f"{type(op).__name__.lower()} {op.path}: {value if len(value) <= _LONGEST else value[:_LONGEST] + '…'}"
