"""Which edits KubeVirt is expected to refuse, and whether it does: the predicates of features put to the API server.

Pure: what is expected is a value, and so is what an answer means. Asking is somebody else's.
"""

from __future__ import annotations

from .answers import EditAnswer, probed
from .expected import Expected, chosen, expected_edits
from .report import EditProbed, EditProbes, summed, unsettled

__all__ = [
    "EditAnswer",
    "EditProbed",
    "EditProbes",
    "Expected",
    "chosen",
    "expected_edits",
    "probed",
    "summed",
    "unsettled",
]
