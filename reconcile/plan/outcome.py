"""The object before and after a step, as far as that follows from the step, and without what may be secret. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from .managed_fields import applied
from .plan import Create, Delete, Patch, Step
from .requests import metadata

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
