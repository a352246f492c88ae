"""One VM whole: where it runs and could go, what it waits for, what it is, and what would happen to it.

Pure: nothing is written. A manifest is evaluated as if its VM were there.
"""

from __future__ import annotations

from .context import INDEXES, KINDS, READER, NoSuchVMError
from .manifest import KINDS as OF_MANIFESTS
from .manifest import Manifest, manifest_of, propose
from .report import NodeAnswer, Places, Verdict, VMWhole, exit_code
from .view import steps, take

__all__ = [
    "INDEXES",
    "KINDS",
    "OF_MANIFESTS",
    "READER",
    "Manifest",
    "NoSuchVMError",
    "NodeAnswer",
    "Places",
    "VMWhole",
    "Verdict",
    "exit_code",
    "manifest_of",
    "propose",
    "steps",
    "take",
]
