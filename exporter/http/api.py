"""/api/v1/findings: the report as JSON, with filters, an ETag, and long polling by generation."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from aiohttp import web

from ..engine.engine import Engine
from ..views.findings import Filter, take

__all__ = ["Findings", "filter_of"]

_LONGEST_WAIT = 60.0  # seconds
_ENCODE = msgspec.json.Encoder().encode


class Findings:
    def __init__(self, engine: Engine, instance: str) -> None:
        """`instance` is the ID of this run of the steward: generations start anew with each."""
        self._engine, self._instance = engine, instance

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """With `wait` (seconds) the response is delayed while the generation is still the caller's: the parameter
        `generation`, or that of If-None-Match.
        """
        try:
            wanted, wait, generation = _parse(request)
        except ValueError as error:
            return json_error(400, str(error))
        known = request.headers.get("If-None-Match", "")
        if wait and (generation == self._engine.generation or known == self._etag()):
            await self._change(wait)
        if known == self._etag():
            return web.Response(status=304, headers={"ETag": known})
        etag = self._etag()
        body = _ENCODE(take(self._engine, wanted))
        return web.Response(body=body, content_type="application/json", headers={"ETag": etag})

    def _etag(self) -> str:
        return f'"{self._instance}.{self._engine.generation}"'

    async def _change(self, seconds: float) -> None:
        before = self._engine.generation
        try:
            async with asyncio.timeout(seconds), self._engine.changed:
                await self._engine.changed.wait_for(lambda: self._engine.generation != before)
        except TimeoutError:
            return


def _parse(request: web.Request) -> tuple[Filter, float, int | None]:
    query = request.query
    own = {"wait", "generation"}
    wanted = filter_of({key: query.getall(key) for key in query if key not in own})
    wait, generation = query.get("wait", "0"), query.get("generation")
    try:
        seconds = float(wait.removesuffix("s"))
    except ValueError:
        raise ValueError(f"wait={wait!r} is not a number of seconds, such as 30") from None
    if not 0 <= seconds <= _LONGEST_WAIT:
        raise ValueError(f"wait={wait!r} is not between 0 and {_LONGEST_WAIT:.0f} seconds")
    if generation is not None and not generation.isdecimal():
        raise ValueError(f"generation={generation!r} is not a generation; use that of an earlier response")
    return wanted, seconds, int(generation) if generation is not None else None


def filter_of(query: dict[str, list[str]]) -> Filter:
    """Raises ValueError for a parameter that is not a filter. Several values of one field are alternatives."""
    for key in query:
        if key not in Filter.__struct_fields__:
            known = ", ".join(Filter.__struct_fields__)
            raise ValueError(f"{key!r} is no filter; filters are: {known}")
    chosen: dict[str, Any] = {
        key: frozenset(v for value in values for v in value.split(",") if v) for key, values in query.items()
    }
    return Filter(**chosen)


def json_error(status: int, message: str) -> web.Response:
    return web.json_response({"error": message}, status=status)
