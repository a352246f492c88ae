"""What can go wrong between us and the API server.

KubeError
├── ConfigError      no usable kubeconfig or ServiceAccount
├── UnreachableError no connection, failed TLS handshake, timeout, truncated response
├── MalformedError   a response that can't be decoded
├── StatusError      a response with a status of 400 or above, or an ERROR event of a watch
│   └── by `code`: 401, 403, 404, 410, 429, …
└── AbsentError      the API server does not serve the kind
"""

from __future__ import annotations

import os
import socket

import msgspec

from ..store.decode import MALFORMED

__all__ = [
    "MALFORMED",
    "AbsentError",
    "ApiStatus",
    "ConfigError",
    "KubeError",
    "MalformedError",
    "StatusError",
    "UnreachableError",
    "refusal_of",
]


class KubeError(Exception):
    """The base class; its text is one sentence."""


class ConfigError(KubeError):
    pass


class UnreachableError(KubeError):
    pass


class MalformedError(KubeError):
    pass


class AbsentError(KubeError):
    pass


class _Details(msgspec.Struct, frozen=True):
    causes: list[msgspec.Raw] | None = None


class ApiStatus(msgspec.Struct, frozen=True):
    """The fields that we read of the API's Status object."""

    kind: str | None = None
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


class StatusError(KubeError):
    """`code` is the HTTP status or the code of an ERROR event; `retry_after` is in seconds.

    `reason` is that of the API's Status, empty where the body was none, and `causes` whether it names fields or
    webhooks: a JSON patch whose `test` failed names nothing.
    """

    def __init__(
        self, code: int, message: str, retry_after: float | None = None, reason: str = "", *, causes: bool = False
    ) -> None:
        super().__init__(f"{code} {message}")
        self.code = code
        self.retry_after = retry_after
        self.reason, self.causes = reason, causes

    @property
    def not_found(self) -> bool:
        """Whether it proves that the object does not exist; a version that is not served is 404 too, without Status."""
        return self.code == 404 and self.reason == "NotFound"

    @classmethod
    def of(cls, code: int, body: bytes, retry_after: str | None = None) -> StatusError:
        """From a response. Its body counts only if it is a Status, else it is cut: it may be a proxy's HTML page."""
        reason, causes = "", False
        try:
            status = msgspec.json.decode(body, type=ApiStatus)
            message = status.message or ""
            if status.kind == "Status":
                reason, causes = status.reason or "", bool(status.details and status.details.causes)
        except MALFORMED:
            message = body[:256].decode("utf-8", "replace").strip()
        seconds = float(retry_after) if retry_after and retry_after.isdecimal() else None
        return cls(code, message[:512] or "without a message", seconds, reason, causes=causes)


def refusal_of(error: Exception) -> str:
    """Why there was no connection, in the words of the system, of an error that came of that; empty of another."""
    below = getattr(error.__cause__, "os_error", None)
    if not isinstance(below, OSError):
        return ""
    known = below.errno and not isinstance(below, socket.gaierror)
    return (os.strerror(below.errno) if known and below.errno else below.strerror) or ""
