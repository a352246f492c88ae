"""Hands what somebody asks for by the page to the sidecar, with their own token: it is written with that, or not."""

from __future__ import annotations

import msgspec

from ..config.settings import ReconcileSettings
from ..kube.get_json import GetError, JSONServer

_PATH = "/api/v1/actions"
_SECONDS = 60.0
_LARGEST = 1 << 16  # bytes of an answer
_LONGEST = 1000  # characters of a sentence


class _Answer(msgspec.Struct, frozen=True):
    said: str = ""
    error: str = ""


class Acting:
    def __init__(self, settings: ReconcileSettings) -> None:
        """The settings have a URL, which is encrypted or of this host."""
        self._sidecar = JSONServer(
            (settings.url or "").rstrip("/"), "", settings.ca_file or "", settings.server_name or ""
        )

    async def act(self, token: str, wanted: dict[str, str]) -> tuple[int, str]:
        """The status, and what was done or why not, in a sentence."""
        try:
            status, body = await self._sidecar.post(
                _PATH, token, msgspec.json.encode(wanted), seconds=_SECONDS, most=_LARGEST
            )
        except GetError as error:
            return 502, f"nobody knows whether it was done: {error}"
        try:
            answer = msgspec.json.decode(body, type=_Answer)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            answer = _Answer()
        said = (answer.said or answer.error)[:_LONGEST]
        return status, said or f"the sidecar answered with {status}"
