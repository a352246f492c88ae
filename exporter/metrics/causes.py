"""How many objects each cause has: what there is to do, as one series each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from itertools import islice

from ..engine.cause_store import CauseStore
from ..engine.open_cause import OpenCause
from .text import escaped, head

NAME = "kubevirt_steward_cause_objects"
HELP = "The objects with a finding that one act mends."
LABELS = ("cause", "check", "reason", "severity", "kind", "namespace", "name", "node", "network", "feature", "group")
_SLICE = 1000  # lines


class Causes:
    """Within a limit, the first that came; what is left out comes in when there is room."""

    def __init__(self, store: CauseStore) -> None:
        self._store = store

    def series(self, limit: int) -> int:
        return min(len(self._store), limit)

    def left_out(self, limit: int) -> int:
        return len(self._store) - self.series(limit)

    async def render(self, limit: int) -> AsyncIterator[bytes]:
        """The text of the family, in slices, of one moment."""
        yield head(NAME, HELP)
        rest = iter([(_label_block(cause), cause.objects) for cause in islice(self._store, limit)])
        while part := list(islice(rest, _SLICE)):
            yield "".join(f"{NAME}{block} {objects}\n" for block, objects in part).encode()
            await asyncio.sleep(0)


def _label_block(cause: OpenCause) -> str:
    reference = cause.reference
    values: Iterable[str] = (
        *(cause.id, cause.check, cause.reason, cause.severity.value),
        *(reference.kind, reference.namespace, reference.name),
        *(reference.node, reference.network, reference.feature, reference.group),
    )
    return "{" + ",".join(f'{label}="{escaped(value)}"' for label, value in zip(LABELS, values, strict=True)) + "}"
