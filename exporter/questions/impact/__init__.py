"""What a change would do, before anybody makes it: whose findings would come, go, or be more or less severe.

Pure: nothing is changed. A change is a value, and the checks themselves are evaluated on the changed cluster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...store.cluster import Cluster
from ...store.kind import ApiKind
from ...store.kinds import kube_virt
from ...store.reader import Reading
from . import gates
from .gates import GateChange
from .proposals import KINDS, NoSuchObjectError, ProposedChange, deletion, without
from .report import Affected, FeatureTotals, Impact, Totals, exit_code
from .settings_changes import Wish, configured
from .view import concerned, steps, take
from .who_breaks import TITLES, SubjectOutcome

__all__ = [
    "PARAMETERS",
    "READER",
    "TITLES",
    "WHOLE",
    "Affected",
    "FeatureTotals",
    "GateChange",
    "Impact",
    "ImpactQuery",
    "NoSuchObjectError",
    "ProposedChange",
    "SubjectOutcome",
    "Totals",
    "concerned",
    "deletion",
    "exit_code",
    "proposed",
    "steps",
    "take",
    "without",
]

# What users may ask a preview for, by the names that options and parameters have, all of it together.


class ImpactQuery(NamedTuple):
    delete_instancetype: tuple[str, ...] = ()
    delete_preference: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()
    enable: tuple[str, ...] = ()
    upgrade_to: tuple[str, ...] = ()
    set: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[ApiKind[Any], ...]:
        """Those that are changed."""
        deleted = KINDS if self.delete_instancetype or self.delete_preference else ()
        return (*deleted, kube_virt.KIND) if self[2:] != ImpactQuery()[2:] else deleted


PARAMETERS = tuple(name.replace("_", "-") for name in ImpactQuery._fields)
WHOLE = ("set",)
"""Those whose values may hold commas."""


def proposed(cluster: Cluster, asked: ImpactQuery) -> ProposedChange:
    """Raises ValueError for what can't be done, and NoSuchObjectError."""
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
