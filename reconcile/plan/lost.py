"""What may be lost when a write is taken back."""

from __future__ import annotations

from enum import StrEnum


class Lost(StrEnum):
    """The words by which a loss is accepted."""

    ADDRESS = "address"
    COPY = "copy"
    DOWNTIME = "downtime"
    IDENTITY = "identity"
    UNIQUENESS = "uniqueness"
