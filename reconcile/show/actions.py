"""/api/v1/actions: approvals and pauses that people ask for by the page, each with their own token.

Who asks was let in by the guard; what they may write is for the API server to say, which gets their token.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, get_args

import msgspec
from aiohttp import web

from exporter.http.access.credentials import token_of
from exporter.http.server.answers import json_error
from exporter.http.server.bodies import body_of

from ..act.on_behalf import OnBehalf, RefusedError
from ..decide.approval import write
from ..plan.annotations import APPROVED_PLAN, PAUSED, RESUMED
from ..plan.time_text import moment
from .plans import Repair, ShownRepairs

__all__ = ["PATH", "actions"]

PATH = "/api/v1/actions"
_BODY_BYTES = 4096
_SECONDS = 10.0  # for the body
_LASTS = 8 * 3600.0  # seconds of an approval, at most what the configuration allows
_LONGEST = 200  # characters of a reason
_Act = Literal["approve", "pause"]


class _Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    act: _Act
    fingerprint: str
    remediation: str
    plan: str
    because: str = ""


_WANTED = msgspec.json.Decoder(_Wanted)


def actions(
    board: ShownRepairs, on_behalf: OnBehalf, clock: Callable[[], float], longest: Callable[[], float]
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """`longest` is how many seconds an approval may last."""

    async def act(request: web.Request) -> web.StreamResponse:
        token = token_of(request)
        if token is None:
            return json_error(401, "the request has no token, with which it would be written")
        try:
            wanted = _WANTED.decode(await body_of(request, _BODY_BYTES, _SECONDS))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return json_error(400, f"the body is no action; there are {', '.join(get_args(_Act))}: {error}")
        except ValueError as error:
            return json_error(413, str(error))
        except TimeoutError:
            return json_error(408, f"the body was not sent within {_SECONDS:g} s")
        repair = board.get(wanted.fingerprint, wanted.remediation)
        if why := _why_not(repair, wanted) or repair is None or repair.bound_to is None:
            return json_error(409, str(why))
        try:
            said = await _done(repair, wanted, token)
        except RefusedError as error:
            return json_error(error.status, str(error))
        return web.json_response({"said": said})

    async def _done(repair: Repair, wanted: _Wanted, token: str) -> str:
        target = repair.bound_to
        assert target is not None
        if wanted.act == "approve":
            until = clock() + min(_LASTS, longest())
            made: Callable[[str], Mapping[str, str | None]] = lambda by: {  # noqa: E731
                APPROVED_PLAN: write(repair.hash, by, until)
            }
            by = await on_behalf.annotate(token, target, "RepairApproved", made)
            return f"{by} has approved of plan {repair.hash} on {target} until {moment(until)}."
        because = wanted.because.strip() or "paused"
        paused: Callable[[str], Mapping[str, str | None]] = lambda by: {  # noqa: E731
            PAUSED: f"{because} ({by})",
            RESUMED: None,
        }
        by = await on_behalf.annotate(token, target, "RepairsPaused", paused)
        return f"{by} has paused repairs of {target}."

    return act


def _why_not(repair: Repair | None, wanted: _Wanted) -> str:
    """Why it can't be what the page showed; empty where it can."""
    if repair is None or repair.bound_to is None:
        return f"there is no plan of {wanted.remediation[:60]} for finding {wanted.fingerprint[:60]} any more"
    if repair.hash != wanted.plan:
        return f"the plan is {repair.hash} now, and not {wanted.plan[:60]}; look at it anew"
    if wanted.act == "approve" and repair.state != "waiting":
        return f"the repair does not wait for an approval: it is {repair.state}"
    if len(wanted.because) > _LONGEST or not wanted.because.isprintable():
        return f"the reason has to be one line of at most {_LONGEST} characters"
    return ""
