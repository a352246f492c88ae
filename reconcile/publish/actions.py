"""/api/v1/actions: approvals, pauses and acknowledgements that people ask for by the page, each with their own token.

Who asks was let in by the guard; what they may write is for the API server to say, which gets their token.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from aiohttp import web

from exporter.config.editing import with_entry
from exporter.facts.record import Ref
from exporter.findings.causes import moment_of
from exporter.serve.access.access import token_of
from exporter.serve.access.same_origin import LASTS, made_at
from exporter.serve.server.connections import body_of
from exporter.serve.server.sending import json_error

from ..carry_out.board import ShownRepairs
from ..carry_out.on_behalf import OnBehalf, RefusedError
from ..decide.approval import write
from ..decide.repair import Repair
from ..plan.annotations import APPROVED_PLAN, PAUSED, RESUMED
from ..plan.owners import known_owners
from ..plan.plan import moment
from ..plan.requests import metadata

# An entry of the exporter's configuration that acknowledges a cause, put into the ConfigMap that it is mounted from.
#
# It is written with the token of who asks for it. Where that ConfigMap is made from somewhere else, by Helm or from
# Git, the entry would be taken back: then nothing is written, and it is said where it belongs.

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_DAYS = 366  # that one may be acknowledged for by the page
_LATER = "It holds once the exporter's pod has the new file, within two minutes"


class Acknowledge(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="act", tag="acknowledge"):
    """`severity` is the worst that is acknowledged, and `about` a comment for whoever reads the file."""

    form: str
    cause: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    until: str
    because: str
    severity: Literal["info", "warning", "critical"]
    about: str = ""


class Acknowledging:
    def __init__(self, on_behalf: OnBehalf, place: Ref, key: str, clock: Callable[[], float]) -> None:
        """`place` is the ConfigMap, and `key` that of the file in it."""
        self._on_behalf, self.place, self._key, self._clock = on_behalf, place, key, clock

    def refuse(self, wanted: Acknowledge) -> None:
        """Raises RefusedError for what no entry may be."""
        try:
            until = moment_of(wanted.until)
        except ValueError as error:
            raise RefusedError(f"until when is not understood: {error}", 409) from error
        if until <= self._clock():
            raise RefusedError(f"{wanted.until} is over already; give a later date", 409)
        if until > self._clock() + _DAYS * 86_400:
            raise RefusedError(f"{wanted.until} is more than a year away; give an earlier date", 409)
        if not wanted.because.strip():
            raise RefusedError("say why it may wait", 409)

    async def put(self, wanted: Acknowledge, token: str) -> str:
        """What was done, in sentences. Raises RefusedError."""

        def changed(by: str, whole: Mapping[str, Any]) -> str:
            return with_entry(self._text(whole), _entry(wanted, by), wanted.about, instead=True)

        said = f"acknowledges cause {wanted.cause} until {wanted.until}: {wanted.because}"
        by, before = await self._on_behalf.rewrite(token, self.place, self._key, "CauseAcknowledged", changed, said)
        notes = metadata(before).get("annotations") or {}
        applied = (
            "" if _APPLIED not in notes else ". Whoever applies its manifest again takes it back: put it there too"
        )
        return f"{by} has put the entry into {self.place}. {_LATER}{applied}"

    def _text(self, whole: Mapping[str, Any]) -> str:
        """Raises ValueError where it is not there, or where somebody else decides what it is."""
        owner = next(known_owners(whole, [f"/data/{self._key}"]), None)
        if owner is not None:
            raise ValueError(f"{owner.name} would take the entry back. {owner.where}")
        data = whole.get("data")
        text = data.get(self._key) if isinstance(data, dict) else None
        if not isinstance(text, str):
            raise ValueError(f"it has no {self._key}; acknowledge.key has to name the file that the exporter reads")
        return text


def _entry(wanted: Acknowledge, by: str) -> dict[str, str]:
    said = {"by": by} if by.isprintable() else {}  # a configuration takes no other text
    entry = {"cause": wanted.cause, "until": wanted.until, "because": wanted.because.strip()}
    return {**entry, **said, "severity": wanted.severity}


# Each form of the page does something once.
#
# A browser sends a form again with a click on Reload, also after somebody else has resumed what it paused. The sidecar
# is the one that all replicas of the exporter hand forms to, so it remembers which it has had, for as long as they are
# good. It knows nothing of those that came before it started, and so it takes none that was made before.

MOST = 10_000


class SentForms:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._began = clock, int(clock())
        self._had: dict[str, int] = {}  # when each was made

    def refusal(self, form: str) -> str:
        """Why it is not taken; empty where it is, and then never again."""
        made, now = made_at(form), self._clock()
        if form in self._had:
            return "the form was sent before, and does something once; load the page again to see what has come of it"
        if made < self._began:
            return "the form is older than the sidecar's last start; load the page again, and send it from there"
        self._had = {each: at for each, at in self._had.items() if at + LASTS >= now} if self._full else self._had
        if self._full:
            return f"more than {MOST:,} forms were sent within an hour; try again later"
        self._had[form] = made
        return ""

    @property
    def _full(self) -> bool:
        return len(self._had) >= MOST


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
