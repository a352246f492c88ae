"""Waits until a steward has seen its cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from .store.source import Source, SyncState

if TYPE_CHECKING:
    from .app import Steward


async def wait_until_seen(steward: Steward, seconds: float, say: Callable[[str], None] = lambda _: None) -> bool:
    """Waits until every kind is settled and everything is evaluated; False on timeout.

    A failing kind is waited for, since API servers restart; `say` is called once with its reason.
    """
    engine = steward.engine
    reported = False

    def seen() -> bool:
        nonlocal reported
        sources = tuple(engine.cluster.all(Source))
        failing = [source for source in sources if source.sync_state is SyncState.FAILING]
        if failing and not reported:
            reported = True
            say(f"{failing[0].why}; trying again for up to {seconds:.0f} s")
        return all(source.settled for source in sources) and engine.caught_up

    try:
        async with asyncio.timeout(seconds), engine.changed:
            await engine.changed.wait_for(seen)
    except TimeoutError:
        return False
    return True
