"""/api/v1/actions: approvals, pauses and acknowledgements that people ask for by the page, each with their own token.

Who asks was let in by the guard; what they may write is for the API server to say, which gets their token.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import msgspec
from aiohttp import web

from exporter.http.access.credentials import token_of
from exporter.http.server.answers import json_error
from exporter.http.server.bodies import body_of

from ..act.on_behalf import OnBehalf, RefusedError
from ..decide.approval import write
from ..plan.annotations import APPROVED_PLAN, PAUSED, RESUMED
from ..plan.time_text import moment
from .acknowledging import Acknowledge, Acknowledging
from .plans import Repair, ShownRepairs
from .sent_forms import SentForms

PATH = "/api/v1/actions"
_BODY_BYTES = 4096
_SECONDS = 10.0  # for the body
_LASTS = 8 * 3600.0  # seconds of an approval, at most what the configuration allows
_LONGEST = 200  # characters of a reason


class _OfPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="act"):
    form: str
    fingerprint: str
    remediation: str
    plan: str
    because: str = ""


class _Approve(_OfPlan, frozen=True, tag="approve"):
    pass


class _Pause(_OfPlan, frozen=True, tag="pause"):
    pass


_Wanted: TypeAlias = _Approve | _Pause | Acknowledge
_WANTED = msgspec.json.Decoder(_Wanted)
_ACTS = ", ".join(str(each.__struct_config__.tag) for each in (_Approve, _Pause, Acknowledge))


class Actions:
    def __init__(
        self,
        board: ShownRepairs,
        on_behalf: OnBehalf,
        clock: Callable[[], float],
        longest: Callable[[], float],
        acknowledging: Acknowledging | None = None,
    ) -> None:
        """`longest` is how many seconds an approval may last. Without `acknowledging` no cause can be acknowledged."""
        self._board, self._on_behalf, self._clock, self._longest = board, on_behalf, clock, longest
        self.acknowledging, self._forms = acknowledging, SentForms(clock)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        token = token_of(request)
        if token is None:
            return json_error(401, "the request has no token, with which it would be written")
        try:
            wanted = _WANTED.decode(await body_of(request, _BODY_BYTES, _SECONDS))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return json_error(400, f"the body is no action; there are {_ACTS}: {error}")
        except ValueError as error:
            return json_error(413, str(error))
        except TimeoutError:
            return json_error(408, f"the body was not sent within {_SECONDS:g} s")
        try:
            return web.json_response({"said": await self._done(wanted, token)})
        except RefusedError as error:
            return json_error(error.status, str(error))

    async def _done(self, wanted: _Wanted, token: str) -> str:
        """Raises RefusedError."""
        act = self._of_acknowledging(wanted) if isinstance(wanted, Acknowledge) else self._of_plan(wanted)
        if why := self._forms.refusal(wanted.form):
            raise RefusedError(why, 409)
        return await act(token)

    def _of_acknowledging(self, wanted: Acknowledge) -> Callable[[str], Awaitable[str]]:
        """Raises RefusedError."""
        entries = self.acknowledging
        if entries is None:
            raise RefusedError("no cause is acknowledged by the page: acknowledge.configMap is not set", 409)
        _refuse_reason(wanted.because)
        entries.refuse(wanted)
        return lambda token: entries.put(wanted, token)

    def _of_plan(self, wanted: _Approve | _Pause) -> Callable[[str], Awaitable[str]]:
        """Raises RefusedError where it can't be what the page showed."""
        repair = self._board.get(wanted.fingerprint, wanted.remediation)
        if repair is None or repair.bound_to is None:
            of = f"{wanted.remediation[:60]} for finding {wanted.fingerprint[:60]}"
            raise RefusedError(f"there is no plan of {of} any more", 409)
        if repair.hash != wanted.plan:
            raise RefusedError(f"the plan is {repair.hash} now, and not {wanted.plan[:60]}; look at it anew", 409)
        if isinstance(wanted, _Approve):
            if repair.state != "waiting":
                raise RefusedError(f"the repair does not wait for an approval: it is {repair.state}", 409)
            return lambda token: self._approve(repair, token)
        _refuse_reason(wanted.because)
        return lambda token: self._pause(repair, wanted.because.strip() or "paused", token)

    async def _approve(self, repair: Repair, token: str) -> str:
        assert repair.bound_to is not None
        now = self._clock()
        until = now + min(_LASTS, self._longest())

        def approved(by: str) -> Mapping[str, str | None]:
            return {APPROVED_PLAN: write(repair.hash, by, now, until)}

        by = await self._on_behalf.annotate(token, repair.bound_to, "RepairApproved", approved)
        return f"{by} has approved of plan {repair.hash} on {repair.bound_to} until {moment(until)}."

    async def _pause(self, repair: Repair, because: str, token: str) -> str:
        assert repair.bound_to is not None

        def paused(by: str) -> Mapping[str, str | None]:
            return {PAUSED: f"{because} ({by})", RESUMED: None}

        by = await self._on_behalf.annotate(token, repair.bound_to, "RepairsPaused", paused)
        return f"{by} has paused repairs of {repair.bound_to}."


def _refuse_reason(because: str) -> None:
    if len(because) > _LONGEST or not because.isprintable():
        raise RefusedError(f"the reason has to be one line of at most {_LONGEST} characters", 409)
