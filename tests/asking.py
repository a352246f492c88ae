"""How tests ask a steward over HTTP."""

from __future__ import annotations

from typing import Any

import aiohttp

__all__ = ["get"]


async def get(http: aiohttp.ClientSession, path: str, **headers: str) -> tuple[int, str, Any]:
    """The status, the text and the headers of an answer."""
    async with http.get(path, headers=headers) as answer:
        return answer.status, await answer.text(), answer.headers
