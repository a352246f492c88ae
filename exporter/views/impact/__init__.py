"""What a change would do, before anybody makes it: whose findings would come, go, or be more or less severe.

Pure: nothing is changed. A change is a value, and the checks themselves are evaluated on the changed cluster.
"""

from __future__ import annotations

from ...store.reader import Reading
from . import gates
from .gates import GateChange
from .proposals import KINDS, NoSuchObjectError, ProposedChange, deletion, without
from .query import PARAMETERS, WHOLE, ImpactQuery, proposed
from .report import Affected, FeatureTotals, Impact, Totals, exit_code
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

READER = Reading("impact", tuple(dict.fromkeys((*KINDS, *gates.KINDS))))
