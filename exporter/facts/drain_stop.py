"""What is left on a VM that was stopped for the drain of a node: an annotation with what it takes to start it again.

It is written in the same patch as the stop, so that there is never one without the other. It says nothing of another
VM: its UID tells the VM that was stopped from a copy or a restored one. It says nothing once somebody else has set the
run strategy, which `metadata.managedFields` show.
"""

from __future__ import annotations

import msgspec

from .annotations import Note
from .nesting import decoded, whole
from .record import Wire

STOPPED_FOR_DRAIN = "steward.kubevirt-steward.io/stopped-for-drain"


class DrainStop(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    vm: str  # UID
    vmi: str  # UID of what ran
    node: str  # that was drained
    run_strategy: str  # that it had
    by: str  # the field manager that wrote it
    field: str = "runStrategy"  # of the spec, which the stop set; `running` of a VM with the older one
    # With run strategy Manual, once that is put back and the start is still to be asked for: since when the VM had
    # been stopped, as its condition Ready says.
    starting: str = ""


_STOP = msgspec.json.Decoder(DrainStop)


def stop_of(note: Note) -> DrainStop | None:
    """What the annotation says; None for none, and for what nobody could have written: nothing follows from that."""
    if not isinstance(note, str) or not note:
        return None
    try:
        found = whole(note, _STOP)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    complete = found.vm and found.node and found.run_strategy and found.by and found.field in ("runStrategy", "running")
    return found if complete else None


def text_of(stop: DrainStop) -> str:
    return msgspec.json.encode(stop, order="sorted").decode()


class _SpecFields(Wire, frozen=True, gc=False):
    run_strategy: object = msgspec.field(name="f:runStrategy", default=None)
    running: object = msgspec.field(name="f:running", default=None)


class _Fields(Wire, frozen=True, gc=False):
    spec: _SpecFields | None = msgspec.field(name="f:spec", default=None)


class _Write(Wire, frozen=True, gc=False):
    manager: str | None = None
    fields_v1: _Fields | None = msgspec.field(name="fieldsV1", default=None)


_WRITES = msgspec.json.Decoder(list[_Write | None] | None)


def set_by(managed_fields: bytes, field: str) -> frozenset[str]:
    """The field managers that own this field of a VM's spec; none where managedFields do not say.

    Whoever changes its value owns it alone.
    """
    try:
        writes = decoded(_WRITES, managed_fields or b"null") or ()
    except msgspec.DecodeError:  # of a dump: the API server has no other form of it
        return frozenset()
    of_spec = [(each.manager or "", each.fields_v1.spec) for each in writes if each and each.fields_v1]
    name = "running" if field == "running" else "run_strategy"
    return frozenset(manager for manager, spec in of_spec if spec is not None and getattr(spec, name) is not None)
