"""Commands to copy, for the cluster that was asked: with the kubeconfig, context, dump or steward that was given."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

_CLIENT = re.compile(r"(?<![\w./-])(kubectl|virtctl)(?= )")
_LOOKS = "check|drain|explain|features|ignore|impact|instancetypes|networks|status|vm"
_REPAIRS = "apply|approve|call-off|pause|plan|remove|resume|undo|unguard"  # `ledger` and `role` ask no cluster
_STEWARD = re.compile(rf"(?<![\w./-])steward (?:{_LOOKS}|reconcile (?:{_REPAIRS}))(?![\w-])")
T = TypeVar("T")


@dataclass(frozen=True)
class Aim:
    """Options, with a space before each: those of `kubectl` too, and all by which the steward looks at the same
    again; empty for none.
    """

    client: str = ""
    steward: str = ""

    def command(self, text: str) -> str:
        """A command, or a text that has some, with the options of each program that is called."""
        text = _CLIENT.sub(lambda found: f"{found[0]}{self.client}", text)
        return _STEWARD.sub(lambda found: f"{found[0]}{self.client}", text)


HERE = Aim()


def aimed(report: T, aim: Aim) -> T:
    """The same report, with the options in each of its `commands`, however deep in it."""
    made: Any = _aimed(report, aim) if aim.client else report
    return made  # type: ignore[no-any-return]


def _aimed(value: Any, aim: Aim) -> Any:
    if isinstance(value, Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        new = {name: _aimed(of, aim) for name, of in fields.items()}
        if commands := fields.get("commands"):
            new["commands"] = tuple(map(aim.command, commands))
        return replace(value, **new)
    return type(value)(_aimed(each, aim) for each in value) if isinstance(value, tuple | list) else value
