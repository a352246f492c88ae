"""Whether a write has happened, by the object as it is now; and what takes it back. Pure.

An answer of 200 or 202 is no proof, and after a crash there is no answer: the object decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec

from exporter.facts.record import Ref

from .managed_fields import applied, entries
from .plan import MAPS, Add, Call, Create, Delete, Op, Patch, Remove, Replace, Step, Test, escaped
from .requests import MANAGER, metadata

ABSENT: Any = msgspec.UNSET  # what is not there; null is something else
REQUESTS = "/status/stateChangeRequests"  # where a VM is asked to start or stop
_LONGEST = 80  # characters of a value in a sentence


def happened(step: Step, before: Mapping[str, Any], now: Mapping[str, Any] | None) -> bool:
    """Whether the effect of a step is there.

    `before` is the object as it was, `now` as it is, None where it does not exist; of a Create that of its target.
    """
    if isinstance(step, Create):
        return now is not None and not metadata(now).get("deletionTimestamp") and _may_be_ours(now)
    gone = now is None or metadata(now).get("uid") != metadata(before).get("uid")
    if isinstance(step, Delete):
        return gone or bool(now and metadata(now).get("deletionTimestamp"))
    if now is None or gone:
        # The last finalizer went, and with it the object; any other patch of what is gone has no effect.
        return isinstance(step, Patch) and any("/finalizers" in op.path for op in step.ops if isinstance(op, Remove))
    if isinstance(step, Patch):
        return all(_applied(op, before, now) for op in step.ops if not isinstance(op, Test))
    node = at(now, "/status/evacuationNodeName")
    return node is ABSENT or not node or node != step.body.get("evacuationNodeName")


def never_happened(step: Step, before: Mapping[str, Any], now: Mapping[str, Any] | None) -> bool:
    """Whether a write whose effect is not there can't have had one, so that nobody has taken it away since.

    Nobody takes a deletion back. A patch of any object gives it another resourceVersion, and one of the spec of a VM
    another generation.
    """
    if isinstance(step, Delete):
        return True
    if not isinstance(step, Patch) or now is None:
        return False
    was, found = metadata(before), metadata(now)
    if was.get("uid") != found.get("uid"):
        return False
    of_the_spec = any(op.path.startswith("/spec/") for op in step.ops if not isinstance(op, Test))
    versions = ("resourceVersion", "generation") if of_the_spec and was.get("generation") else ("resourceVersion",)
    return any(was.get(each) == found.get(each) for each in versions)


def _may_be_ours(made: Mapping[str, Any]) -> bool:
    """Whether we may have created an object: where managedFields name others alone, they did."""
    managers = {each.get("manager") for each in entries(made)}
    return not managers or MANAGER in managers


def _applied(op: Op, before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    if isinstance(op, Add | Replace):
        if op.path.endswith("/-"):
            return op.value in _listed(at(now, op.path[:-2]))
        parent, _, _ = op.path.rpartition("/")
        if isinstance(at(before, parent), list):
            return op.value in _listed(at(now, parent))
        return _has(at(now, op.path), op.value) or (op.path == REQUESTS and _carried_out(op.value, before, now))
    parent, _, _ = op.path.rpartition("/")
    if isinstance(at(before, parent), list):
        return at(before, op.path) not in _listed(at(now, parent))
    found = at(now, op.path)  # KubeVirt may have put another value there at once
    return found is ABSENT or found != at(before, op.path)


def _has(found: Any, value: Any) -> bool:
    """Whether a value is there; webhooks may have put more beside it."""
    if isinstance(value, Mapping) and isinstance(found, dict):
        return all(_has(found.get(name, ABSENT), each) for name, each in value.items())
    return bool(found == value)


def _carried_out(requests: Any, before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether a VM has got, or has lost, its VMI as it was asked to: KubeVirt then takes the request off its status."""
    starts = any(isinstance(each, dict) and each.get("action") == "Start" for each in _listed(requests))
    was, is_ = (at(each, "/status/created") is True for each in (before, now))
    return is_ and not was if starts else was and not is_


def inverse(step: Step, before: Mapping[str, Any], after: Mapping[str, Any] | None) -> Step | str:
    """The step that takes another one back, or a sentence why there is none.

    `after` is the object right after the write: what somebody else changed since fails a `test`.
    """
    if isinstance(step, Delete):
        return "a deletion can't be undone. Create the object again from the ledger"
    if after is None:
        return "the object no longer exists"
    if isinstance(step, Create):
        return Delete(target=_with_uid(step.target, after))
    if isinstance(step, Call):
        return "only the next eviction makes an evacuation request"
    ops = tuple(op for path in _restorable(step.ops, before) for op in _restored(path, before, after))
    if not ops:
        return "the write left nothing in the object to restore"
    return Patch(target=step.target, ops=ops, subresource=step.subresource)


def changed_since(step: Step, after: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What an inverse would take away from somebody who wrote it since, one sentence; empty for nothing.

    `after` is the object right after the write that is taken back. Of an object that was created its content counts.
    """
    for path in dict.fromkeys(op.path for op in step.ops) if isinstance(step, Patch) else ("/spec", "/data"):
        wrote, found = at(after, path), at(now, path)
        if found != wrote:
            return f"{path} is {_shown(found)}, and was {_shown(wrote)} right after the write"
    return ""


def _shown(found: Any) -> str:
    text = "not there" if found is ABSENT else msgspec.json.encode(found).decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _restorable(ops: Sequence[Op], before: Mapping[str, Any]) -> Iterator[str]:
    """The paths that are put back: a list as a whole, and so is what a write added together with its parents. Labels
    and annotations are put back one by one, since those beside them are others'.
    """
    found: dict[str, None] = {}
    for op in ops:
        if isinstance(op, Test):
            continue
        if isinstance(op, Add) and op.path in MAPS and isinstance(op.value, Mapping) and at(before, op.path) is ABSENT:
            found |= {f"{op.path}/{escaped(name)}": None for name in op.value}
            continue
        path, (parent, _, _) = op.path, op.path.rpartition("/")
        while parent and (path.endswith("/-") or isinstance(at(before, parent), list)):
            path, (parent, _, _) = parent, parent.rpartition("/")
        found[path] = None
    yield from found


def _restored(path: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Op]:
    was, found = at(before, path), at(after, path)
    if was == found:
        return
    if found is ABSENT:
        yield Add(path, was)
        return
    yield Test(path, found)
    yield Remove(path) if was is ABSENT else Replace(path, was)


def annotation(whole: Mapping[str, Any], name: str, text: str) -> Op:
    """Sets an annotation of an object, together with the map of them where there is none."""
    if isinstance(at(whole, "/metadata/annotations"), dict):
        return Add(f"/metadata/annotations/{escaped(name)}", text)
    return Add("/metadata/annotations", {name: text})


def at(whole: Any, path: str) -> Any:
    """What is at a JSON pointer, or `ABSENT`."""
    for part in path.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(whole, dict):
            whole = whole.get(key, ABSENT)
        elif isinstance(whole, list) and key.isdecimal() and int(key) < len(whole):
            whole = whole[int(key)]
        else:
            return ABSENT
    return whole


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _with_uid(ref: Ref, whole: Mapping[str, Any]) -> Ref:
    return Ref(ref.kind, ref.namespace, ref.name, str(metadata(whole).get("uid") or ""))


# The object before and after a step, as far as that follows from the step, and without what may be secret. Pure.

WITHHELD = "(not shown)"
# KubeVirt takes what cloud-init gets as text in a VM; a client-side apply keeps all of that in an annotation.
_WORDS = "(user|network)data(base64)?|passw(or)?d|passphrase|token|api[-_]?key|private[-_ ]?key"
_NAMED = re.compile(rf"{_WORDS}|secret$|last-applied-configuration$", re.IGNORECASE)
_INSIDE = re.compile(rf"({_WORDS})\\?[\"']?\s*[:=]|BEGIN [A-Z ]*PRIVATE KEY", re.IGNORECASE)
_OF_THE_SERVER = ("managedFields", "resourceVersion", "generation")

Pair = tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]


def before_and_after(step: Step, whole: Mapping[str, Any]) -> Pair:
    """The object of a step as it is and as it would be, None where it does not exist.

    `whole` is the object that the plan is bound to. Raises ValueError for a patch that does not fit the object.
    """
    if isinstance(step, Create):
        return None, step.manifest
    if isinstance(step, Delete):
        return whole, None
    if isinstance(step, Patch):
        return whole, applied(whole, step.ops)
    after = deepcopy(dict(whole))  # of evacuate/cancel, which KubeVirt carries out by taking the request away
    status = after.get("status")
    if isinstance(status, dict) and status.get("evacuationNodeName") == step.body.get("evacuationNodeName"):
        status.pop("evacuationNodeName")
    return whole, after


def shareable(whole: Mapping[str, Any]) -> dict[str, Any]:
    """The object without what only the API server writes, with `WITHHELD` in the place of each text that may be a
    secret: by the name of its field, or by what is written in it.
    """
    kept = {name: each for name, each in metadata(whole).items() if name not in _OF_THE_SERVER}
    shown: dict[str, Any] = _withheld({**whole, "metadata": kept})
    if whole.get("kind") == "Secret":
        shown |= {name: WITHHELD for name in ("data", "stringData") if name in shown}
    return shown


def _withheld(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _withheld(each, str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_withheld(each, name) for each in value]
    secret = isinstance(value, str) and (_NAMED.search(name) or _INSIDE.search(value))
    return WITHHELD if secret else value
