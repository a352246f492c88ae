"""PersistentVolumes by the PersistentVolumeClaims that are bound to them."""

from __future__ import annotations

from collections.abc import Iterable

from ..index import ByName, Index
from ..kinds.persistent_volume import PersistentVolume
from ..record import Record


def _bound(record: Record, _: ByName) -> Iterable[str]:
    return (record.pvc,) if isinstance(record, PersistentVolume) else ()


BOUND = Index("PersistentVolumeClaim", _bound, of=(PersistentVolume,))
