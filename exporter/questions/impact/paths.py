"""Places in a configuration, written as `network.binding.passt` or `permittedHostDevices.pciHostDevices.0`.

A dot that belongs to a key is written with a backslash before it. Pure: what is changed is a tree of JSON.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import msgspec

Path = tuple[str, ...]
Tree = dict[str, Any]

_ROOT = ("spec", "configuration")
_STEPS = re.compile(r"(?:[^.\\]|\\.)+")
_KINDS = {dict: "a map", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
_SHOWN = 60  # characters of a value
_LONGEST = 20_000  # characters of an assignment
_DEEPEST = 30


def assigned(text: str) -> tuple[Path, Any]:
    """The place and the value of `PATH=VALUE`; what is no JSON is a text. Raises ValueError."""
    path, sign, value = text.partition("=")
    shown = repr(shortened(text))
    if any("\ud800" <= each <= "\udfff" for each in text):
        raise ValueError(f"{shown} is no valid UTF-8")
    if not sign:
        raise ValueError(f"{shown} sets nothing; write it as PATH=VALUE, such as cpuModel=Haswell")
    if len(text) > _LONGEST:
        raise ValueError(f"{shown} has {len(text)} characters; there may be {_LONGEST}")
    steps = tuple(re.sub(r"\\(.)", r"\1", step) for step in _STEPS.findall(path.strip()))
    for root in (_ROOT, _ROOT[1:]):
        if steps[: len(root)] == root:
            steps = steps[len(root) :]
            break
    if not steps or len(steps) > _DEEPEST or ".".join(_STEPS.findall(path.strip())) != path.strip():
        raise ValueError(f"{shown} names no setting; write its path below spec.configuration, such as cpuModel=Haswell")
    try:
        decoded = msgspec.json.decode(value)
    except msgspec.DecodeError:
        return steps, value
    except RecursionError:
        decoded = _ENDLESS
    if _deep(decoded, _DEEPEST):
        raise ValueError(f"{shown} is nested deeper than {_DEEPEST} times")
    return steps, decoded


_ENDLESS: list[Any] = []
_ENDLESS.append(_ENDLESS)


def _deep(value: Any, left: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    return left == 0 or any(_deep(each, left - 1) for each in (value.values() if isinstance(value, dict) else value))


def put(tree: Tree, path: Path, value: Any) -> Tree:
    """A copy with the value at a place, and what lacks on the way there; None removes what is there. Raises ValueError
    where there can be no such place.
    """
    new = dict(tree)
    here: Any = new
    for depth, step in enumerate(path):
        last = depth == len(path) - 1
        key = _key(here, path, depth)
        if last and value is None:
            _remove(here, key)
        elif last:
            here[key] = value
        else:
            there = here[key] if isinstance(here, list) else here.get(step)
            if there is None and value is None:
                break
            # Only what is on the way is copied: the rest may be large.
            here[key] = there = {} if there is None else copy.copy(there)
            here = there
    return new


def at(tree: Tree, path: Path) -> Any:
    """What is at a place; None where nothing is."""
    here: Any = tree
    for step in path:
        here = here.get(step) if isinstance(here, dict) else None
    return here


def _key(here: Any, path: Path, depth: int) -> Any:
    step, above = path[depth], named(path[:depth])
    if isinstance(here, dict):
        return step
    if not isinstance(here, list):
        raise ValueError(
            f"{above} is {_KINDS.get(type(here), 'a value')}, and has nothing below it named {shortened(step)!r}"
        )
    if not re.fullmatch(r"[0-9]{1,6}", step):
        raise ValueError(f"{above} is a list; name one of its entries by a number from 0, and not {shortened(step)!r}")
    if int(step) >= len(here):
        entries = f"{len(here)} entr{'y' if len(here) == 1 else 'ies'}"
        raise ValueError(f"{above} has {entries}, counted from 0, and none {step}; to add one, set the whole list")
    return int(step)


def _remove(here: Any, key: Any) -> None:
    if isinstance(here, list) or key in here:
        del here[key]


def named(path: Path) -> str:
    """As users write it."""
    return ".".join((*_ROOT, *(step.replace("\\", "\\\\").replace(".", "\\.") for step in path)))


def written(value: Any) -> str:
    """A value in a sentence, cut where it is long."""
    return shortened(msgspec.json.encode(value, order="sorted").decode())


def shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
