"""One VM whole: where it runs and could go, what it waits for, what it is, and what would happen to it.

Pure: nothing is written. A manifest is evaluated as if its VM were there.
"""

from __future__ import annotations

from collections.abc import Generator

import msgspec

from ...counts.migrations import MigrationFailures
from ...engine.engine import Engine
from ..asked import VMQuery
from ..question import Question
from .comparing import differences
from .context import INDEXES, KINDS, READER
from .manifest import KINDS as OF_MANIFESTS
from .manifest import Manifest, manifest_of, propose
from .report import NodeAnswer, Places, Verdict, VMWhole, exit_code, said
from .verdicts import changes
from .view import steps

__all__ = [
    "INDEXES",
    "KINDS",
    "OF_MANIFESTS",
    "QUESTION",
    "READER",
    "Manifest",
    "NodeAnswer",
    "Places",
    "VMWhole",
    "Verdict",
    "changes",
    "exit_code",
    "manifest_of",
    "propose",
    "said",
    "steps",
]


def _answered(engine: Engine, kept: MigrationFailures | None, asked: VMQuery) -> Generator[None, None, VMWhole]:
    """A single look remembers no migrations."""
    if asked.manifest is not None:
        return propose(engine, asked.manifest)
    failed = kept.of(asked.namespace, asked.name) if kept is not None else ()
    one = yield from steps(engine, asked.namespace, asked.name, failed)
    if not asked.beside:
        return one
    namespace, slash, name = asked.beside.partition("/")
    other = yield from steps(engine, *((namespace, name) if slash else (asked.namespace, asked.beside)))
    return msgspec.structs.replace(one, beside=other.vm or other.vmi, differences=tuple(differences(one, other)))


QUESTION = Question("vms/{namespace}/{name}", VMQuery, VMWhole, _answered, READER, MigrationFailures)
