"""One request with all that a test may want to look at."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from aiohttp import web

from exporter.fakeapi import calls
from exporter.fakeapi.errors import bad_request
from exporter.fakeapi.resources import Obj

__all__ = ["Call", "read"]

NOTED = ("Accept", "Accept-Encoding", "Authorization", "Content-Type", "User-Agent")
"""Request headers that are kept."""


@dataclass(frozen=True, slots=True)
class Call(calls.Call):
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Obj:
        try:
            body = json.loads(self.body)
        except ValueError as err:
            raise bad_request(f"couldn't parse the body as JSON: {err}") from err
        if not isinstance(body, dict):
            raise bad_request("the body of the request is no object")
        return body


async def read(request: web.BaseRequest) -> Call:
    headers = {name: request.headers[name] for name in NOTED if name in request.headers}
    return Call(request.method, request.path, dict(request.query), headers, await request.read())
