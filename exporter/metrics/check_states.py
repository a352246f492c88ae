"""In which of its states each check is: what dashboards and alerts tell "nothing found" from "nothing known" by."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from ..engine.engine import Engine


class CheckState(StrEnum):
    ANSWERING = "answering"
    UNKNOWN = "unknown"  # for the whole cluster, or never evaluated yet
    NOT_APPLICABLE = "not_applicable"  # the cluster does not serve what the check is about
    DISABLED = "disabled"  # by the configuration


def check_states(engine: Engine, disabled: Iterable[str]) -> dict[str, CheckState]:
    """The state of each check, by its id; `disabled` are those that the engine does not have."""
    not_applicable = engine.not_applicable()
    unknown = engine.unknown_everywhere()
    found = dict.fromkeys(disabled, CheckState.DISABLED)
    for check in engine.checks:
        if check.id in not_applicable:
            found[check.id] = CheckState.NOT_APPLICABLE
        elif check.id in unknown or not engine.evaluated[check.id].once:
            found[check.id] = CheckState.UNKNOWN
        else:
            found[check.id] = CheckState.ANSWERING
    return found
