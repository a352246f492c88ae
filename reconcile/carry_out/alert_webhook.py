"""Takes what Alertmanager's webhook posts: the alerts that fire. They only narrow what is carried out unasked.

A notification says of a group which alerts fire and which are resolved; it is repeated as long as one fires. An alert
that was not repeated in time no longer counts.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from aiohttp import web

from exporter.config.mistakes import quoted
from exporter.serve.server.connections import body_of
from exporter.serve.server.sending import json_error

from ..config.forms import WebhookSettings
from ..decide.gates import Alert

log = logging.getLogger(__name__)

_BODY_BYTES = 4 * 2**20
_SECONDS = 10.0  # for the body
_MOST = 20_000  # alerts that are kept


class _Alert(msgspec.Struct, frozen=True):
    status: str
    labels: dict[str, str]


class _Notification(msgspec.Struct, frozen=True):
    """Version 4, as far as it is read (template.Data and webhook.Message of Alertmanager)."""

    version: str
    alerts: list[_Alert]


_NOTIFICATION = msgspec.json.Decoder(_Notification)


class Firing:
    """The alerts that fire, as far as notifications say."""

    def __init__(self, repeat: float, clock: Callable[[], float], most: int = _MOST) -> None:
        """`repeat` is for how many seconds one counts without being repeated; `clock` is never set back."""
        self._repeat, self._clock, self._most = repeat, clock, most
        self._until: dict[Alert, float] = {}

    def take(self, content: bytes) -> int:
        """How many fire in a notification. Raises ValueError for what is none, with one sentence."""
        try:
            found = _NOTIFICATION.decode(content)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise ValueError(f"this is no notification of Alertmanager's webhook: {error}") from error
        if found.version != "4":
            raise ValueError(f'version {quoted(found.version)} is not known; "4" is')
        until = self._clock() + self._repeat
        for each in found.alerts:
            alert = frozenset(each.labels.items())
            self._until.pop(alert, None)
            if each.status == "firing":
                self._until[alert] = until
        for oldest in list(self._until)[: max(0, len(self._until) - self._most)]:
            del self._until[oldest]
        return sum(each.status == "firing" for each in found.alerts)

    def now(self) -> frozenset[Alert]:
        at = self._clock()
        self._until = {alert: until for alert, until in self._until.items() if until > at}
        return frozenset(self._until)


def receiver(
    settings: WebhookSettings, firing: Firing, received: Callable[[], None] = lambda: None
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The handler of a POST. `received` is called after each notification that was taken."""

    async def receive(request: web.Request) -> web.StreamResponse:
        refusal = _refusal(request, settings.token_file or "")
        if refusal is not None:
            return refusal
        try:
            content = await body_of(request, _BODY_BYTES, _SECONDS)
        except TimeoutError:
            return json_error(408, f"the notification did not arrive within {_SECONDS:g} s")
        except ValueError:
            return json_error(413, f"a notification must have at most {_BODY_BYTES // 2**20} MiB; set max_alerts")
        try:
            count = firing.take(content)
        except ValueError as error:
            return json_error(400, str(error))
        log.debug('event="alerts received" firing=%d', count)
        received()
        return web.json_response({"firing": count})

    return receive


def _refusal(request: web.Request, token_file: str) -> web.Response | None:
    try:
        token = Path(token_file).read_bytes().strip()
    except OSError as error:
        log.error('event="alerts refused" why="cannot read the token in %s: %s"', token_file, error.strerror)
        return json_error(503, "the token to compare with could not be read; the log says why")
    given = request.headers.getall("Authorization", [])
    scheme, _, sent = (given[0] if len(given) == 1 else "").partition(" ")
    sound = hmac.compare_digest(sent.strip().encode("utf-8", "surrogateescape"), token)
    if not token or not sound or scheme.lower() != "bearer":
        response = json_error(
            401, "the bearer token is missing or wrong; set http_config.authorization of the receiver"
        )
        response.headers["WWW-Authenticate"] = "Bearer"
        return response
    return None
