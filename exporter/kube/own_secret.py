"""One Secret that somebody named, read and written: for `steward certificate` in a Job. `steward serve` has none.

It is there before, empty: RBAC can't say which name may be created, but which one may be changed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

import msgspec

from .errors import MALFORMED, MalformedError
from .get_json import whole
from .transport import Transport

_BYTES = 2**21  # the API server takes a MiB of data, which is longer as base64
_SECONDS = 30.0
_PATCH = {"Content-Type": "application/merge-patch+json"}
_MANAGER = (("fieldManager", "steward-certificate"),)


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Secret(msgspec.Struct, frozen=True):
    metadata: _Meta
    data: dict[str, str] | None = None


class OwnSecret:
    def __init__(self, transport: Transport, namespace: str, name: str) -> None:
        self._transport = transport
        self._path = f"/api/v1/namespaces/{namespace}/secrets/{name}"
        self._version = ""

    async def read(self) -> dict[str, bytes]:
        """Its data, by key. Raises KubeError."""
        async with self._transport.open("GET", self._path, read_seconds=_SECONDS) as response:
            content = await whole(response, _BYTES)
        try:
            found = msgspec.json.decode(content, type=_Secret)
            data = {key: base64.b64decode(value, validate=True) for key, value in (found.data or {}).items()}
        except (*MALFORMED, binascii.Error) as error:
            raise MalformedError(f"the Secret can't be decoded: {error}") from error
        self._version = found.metadata.resource_version
        return data

    async def write(self, data: Mapping[str, bytes]) -> None:
        """Sets these keys, if it is still as it was read. Raises KubeError, with code 409 where it is not."""
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        body = {"metadata": {"resourceVersion": self._version}, "data": encoded}
        async with self._transport.open(
            "PATCH", self._path, _MANAGER, _PATCH, read_seconds=_SECONDS, body=body
        ) as response:
            await whole(response, _BYTES)
