"""Coroutines that run beside a block, and what becomes of their errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

__all__ = ["alongside"]


@asynccontextmanager
async def alongside(jobs: dict[str, Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Runs the jobs while entered, and ends them on leaving.

    An error of a job cancels the block and comes out of it; that, and what the block raises itself, comes out as it
    is, not wrapped in a group. A job may end early without an error.
    """
    failed: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(job, name=name) for name, job in jobs.items()]
            yield
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as errors:
        failed = errors.exceptions[0]
    if failed is not None:
        raise failed  # out here, where its own cause stays
