"""Coroutines that run beside a block, and how their errors are raised."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def alongside(jobs: dict[str, Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Runs the jobs while entered, and cancels them on exit.

    An error of a job cancels the block and is raised from it; this, and an error of the block itself, is not wrapped in
    a group. A job may end early without an error.
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
        raise failed  # out here, where it keeps its own cause
