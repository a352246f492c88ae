"""A second look, right after a write, at who might use what it released: by what is read then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..fresh.cluster import FreshCluster
from ..plan.plan import Plan, Refused
from ..plan.remediation import Remediation, Scene
from ..plan.undo import Undo
from .confirm import answered
from .reading import Reads, settled


async def look_again(
    about: Remediation | Undo, plan: Plan, before: Mapping[str, Any], reads: Reads, now: float
) -> str | Refused:
    """One sentence with who does, empty for nobody; Refused where that can't be seen. `before` is the object as it was.

    Never raises for what the API answers.
    """
    look = about.looks_again
    if look is None:
        return ""

    def ask(cluster: FreshCluster) -> str | Refused:
        # Who was seen to use it does, whatever else could not be seen.
        return answered(about, cluster, lambda: look(plan, before, Scene(cluster, about, now)), sure=bool)

    seen = await settled(ask, (about,), reads)
    if isinstance(seen, Refused):
        return msgspec.structs.replace(seen, why=f"who uses what it released can't be seen: {seen.why}")
    return seen
