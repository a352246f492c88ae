"""Silences as Alertmanager writes them."""

from __future__ import annotations

from typing import Any


def silence(*matchers: tuple[str, str, str], state: str = "active") -> dict[str, Any]:
    """Matchers as in ("name", "=~", "value")."""
    return {
        "id": "8f1c",
        "status": {"state": state},
        "updatedAt": "2026-05-28T20:00:00.000Z",
        "startsAt": "2026-05-28T20:00:00.000Z",
        "endsAt": "2026-05-28T22:00:00.000Z",
        "createdBy": "ann",
        "comment": "works",
        "matchers": [
            {"name": name, "value": value, "isRegex": "~" in how, "isEqual": not how.startswith("!")}
            for name, how, value in matchers
        ],
    }
