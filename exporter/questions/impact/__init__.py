"""What a change would do, before anybody makes it: whose findings would come, go, or be more or less severe.

Pure: nothing is changed. A change is a value, and the checks themselves are evaluated on the changed cluster.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

from ...engine.engine import Engine
from ...store.cluster import Cluster
from ...store.kind import ApiKind
from ...store.kinds import kube_virt
from ...store.reader import Reading
from ..asked import ImpactQuery, parameters
from ..question import Question, UnaskableError
from . import gates
from .gates import GateChange
from .proposals import KINDS, ProposedChange, deletion, without
from .settings_changes import Wish, configured
from .view import Affected, FeatureTotals, Impact, Totals, concerned, exit_code, steps
from .who_breaks import TITLES, SubjectOutcome

__all__ = [
    "PARAMETERS",
    "QUESTION",
    "READER",
    "TITLES",
    "Affected",
    "FeatureTotals",
    "GateChange",
    "Impact",
    "ImpactQuery",
    "ProposedChange",
    "SubjectOutcome",
    "Totals",
    "concerned",
    "deletion",
    "exit_code",
    "kinds_of",
    "proposed",
    "steps",
    "without",
]

PARAMETERS = tuple(each.name for each in parameters(ImpactQuery))


def kinds_of(asked: ImpactQuery) -> tuple[ApiKind[Any], ...]:
    """Those that are changed."""
    deleted = KINDS if asked.delete_instancetype or asked.delete_preference else ()
    return (*deleted, kube_virt.KIND) if any((asked.disable, asked.enable, asked.upgrade_to, asked.set)) else deleted


def proposed(cluster: Cluster, asked: ImpactQuery) -> ProposedChange:
    """Raises ValueError for what can't be done, and NotThereError."""
    if len(asked.upgrade_to) > 1:
        raise ValueError(f"upgrade-to is given {len(asked.upgrade_to)} times; give it once")
    parts = []
    if asked.delete_instancetype or asked.delete_preference:
        parts.append(without(cluster, asked.delete_instancetype, asked.delete_preference))
    wish = Wish(asked.disable, asked.enable, next(iter(asked.upgrade_to), None), asked.set)
    if wish:
        parts.append(configured(cluster, wish))
    if len(parts) == 1:
        return parts[0]
    return ProposedChange(
        tuple(change for part in parts for change in part.changes),
        tuple(edit for part in parts for edit in part.edits),
        beforehand=tuple(text for part in parts for text in part.beforehand),
        unread=tuple(sentence for part in parts for sentence in part.unread),
    )


READER = Reading("impact", tuple(dict.fromkeys((*KINDS, *gates.KINDS))))


def _answered(engine: Engine, _: None, asked: ImpactQuery, most: int | None = None) -> Generator[None, None, Impact]:
    if not any(asked):
        raise UnaskableError(f"name a change: {', '.join(PARAMETERS)}")
    try:
        proposal = proposed(engine.cluster, asked)
    except ValueError as error:
        raise UnaskableError(str(error)) from error
    return (yield from steps(engine, proposal, most))


_SHOWN = 500  # findings of an answer of the API
QUESTION = Question("impact", ImpactQuery, Impact, _answered, READER, bounded=partial(_answered, most=_SHOWN))
