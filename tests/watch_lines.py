"""Lines of a watch."""

from __future__ import annotations

from typing import Any

from tests.rows import full


def claim(name: str, version: int | str, **row: Any) -> dict[str, Any]:
    thing = full({"kind": "IPAMClaim", "name": name, "uid": f"uid-{name}", **row})
    thing["metadata"]["resourceVersion"] = str(version)
    return thing
