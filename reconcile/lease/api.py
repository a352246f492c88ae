"""Requests for one Lease, each within a time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from exporter.kube.body import whole
from exporter.kube.errors import MALFORMED, MalformedError, StatusError, UnreachableError
from exporter.kube.transport import Transport

from .record import LeaseRecord

_BYTES = 4 * 2**20


class LeaseApi:
    """Each request takes at most so many seconds, and raises KubeError; what came of a write is then not known."""

    def __init__(self, transport: Transport, namespace: str, name: str) -> None:
        self._transport, self._namespace, self._name = transport, namespace, name
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"

    def __str__(self) -> str:
        return f"Lease {self._namespace}/{self._name}"

    async def get(self, seconds: float) -> LeaseRecord | None:
        """None where it does not exist."""
        try:
            return await self._request("GET", f"/{self._name}", None, seconds)
        except StatusError as error:
            if error.not_found:
                return None
            raise

    async def create(self, body: Mapping[str, Any], seconds: float) -> None:
        """Does nothing where it exists."""
        try:
            await self._request("POST", "", body, seconds)
        except StatusError as error:
            if error.code != 409:
                raise

    async def replace(self, body: Mapping[str, Any], seconds: float) -> LeaseRecord:
        return await self._request("PUT", f"/{self._name}", body, seconds)

    async def _request(self, method: str, path: str, body: Mapping[str, Any] | None, seconds: float) -> LeaseRecord:
        try:
            async with asyncio.timeout(seconds):
                opened = self._transport.open(method, self._path + path, read_seconds=seconds, body=body)
                async with opened as response:
                    content = await whole(response, _BYTES)
        except TimeoutError as error:
            raise UnreachableError(f"no response to {method} of {self} within {seconds:.1f} s") from error
        try:
            record = LeaseRecord(msgspec.json.decode(content, type=dict[str, Any]))
        except MALFORMED as error:
            raise MalformedError(f"{method} of {self} was not answered with a Lease: {error}") from error
        if not record.is_of(self._namespace, self._name):
            raise MalformedError(f"{method} of {self} was answered with something else, or without a resourceVersion")
        return record


async def read_leases(transport: Transport, path: str, query: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """A Lease or a list of them, as it is. Raises KubeError."""
    async with transport.open("GET", path, query, read_seconds=10.0) as response:
        content = await whole(response, _BYTES)
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except MALFORMED as error:
        raise MalformedError(f"GET {path} was not answered with a Lease: {error}") from error
