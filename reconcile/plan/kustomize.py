"""A proposal as a patch that kustomize takes, for objects whose manifests are in Git. Pure.

A strategic merge patch where it says all that is to change by the names of fields. It names the object itself:
kustomize then ends with an error where no resource is that object. What changes a list, or takes the place of a map, is
a JSON patch (RFC 6902), with the tests of the plan: kustomize ends with an error where the manifest has another list
than the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from .effects import ABSENT, at
from .managed_fields import writers
from .owners import in_git
from .plan import Add, Delete, Op, Patch, Plan, Remove, Replace, Test
from .requests import metadata


class KustomizePatch(msgspec.Struct, frozen=True, kw_only=True):
    """`content` is the patch, `target` which resource it is for: without it the patch says so itself."""

    content: Mapping[str, Any] | list[Any]
    target: Mapping[str, str] | None = None

    @property
    def form(self) -> str:
        return "strategic merge patch" if self.target is None else "JSON6902 patch"


def kustomized(plan: Plan, whole: Mapping[str, Any]) -> KustomizePatch | None:
    """None where nobody who has its manifest in Git owns the object, or where the change is to none of its manifest.

    `whole` is the object that the plan is bound to.
    """
    step = plan.step
    if plan.proposal is None or not in_git(plan.proposal.owner):
        return None
    if isinstance(step, Delete):
        return KustomizePatch(content={"$patch": "delete", **_named(whole)})
    if not isinstance(step, Patch) or step.subresource or not step.ops:
        return None
    if any(_exactly(op, whole) for op in step.ops if not isinstance(op, Test)):
        return KustomizePatch(content=msgspec.to_builtins(_kept(step.ops)), target=_target(whole))
    merged = _named(whole)
    for op in step.ops:
        if not isinstance(op, Test):
            *parents, last = _tokens(op.path)
            holder = merged
            for token in parents:
                holder = holder.setdefault(token, {})
            holder[last] = None if isinstance(op, Remove) else op.value
    return KustomizePatch(content=merged)


def field_owners(plan: Plan, whole: Mapping[str, Any]) -> Iterator[str]:
    """Each field that a patch changes, and whom managedFields name for it, or for what is above it."""
    ops = plan.step.ops if isinstance(plan.step, Patch) else ()
    for path in dict.fromkeys(op.path.removesuffix("/-") for op in ops if not isinstance(op, Test)):
        above, found = path, writers(whole, path)
        while not found and "/" in above[1:]:
            above = above.rpartition("/")[0]
            found = writers(whole, above)
        who = ", ".join(sorted({each.manager for each in found}))
        of = "" if above == path else f" {above}, above it:"
        yield f"field {path}:{of} {f'written by {who}' if found else 'not in managedFields'}"


def _exactly(op: Op, whole: Mapping[str, Any]) -> bool:
    """Whether a merge could come to something else than the operation."""
    if any(part == "-" or part.isdecimal() for part in _tokens(op.path)):
        return True
    if isinstance(op, Remove | Test):
        return False
    there = at(whole, op.path)
    return isinstance(op.value, list) or (isinstance(op.value, Mapping) and there is not ABSENT)


def _kept(ops: tuple[Op, ...]) -> list[Add | Replace | Remove | Test]:
    """Without tests of what is not changed: that is of the cluster, and may be in no manifest."""
    changed = {op.path for op in ops if not isinstance(op, Test)}
    beside = changed | {path.rpartition("/")[0] for path in changed}
    return [op for op in ops if not isinstance(op, Test) or op.path in beside]


def _named(whole: Mapping[str, Any]) -> dict[str, Any]:
    meta = {key: metadata(whole)[key] for key in ("name", "namespace") if metadata(whole).get(key)}
    return {"apiVersion": whole.get("apiVersion"), "kind": whole.get("kind"), "metadata": meta}


def _target(whole: Mapping[str, Any]) -> dict[str, str]:
    """Names are patterns in a target; those of Kubernetes have no character of these but the dot."""
    group, _, version = str(whole.get("apiVersion")).rpartition("/")
    meta = {key: str(metadata(whole)[key]) for key in ("name", "namespace") if metadata(whole).get(key)}
    named = {key: value.replace(".", "\\.") for key, value in meta.items()}
    return {**({"group": group} if group else {}), "version": version, "kind": str(whole.get("kind")), **named}


def _tokens(path: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]
