"""Forms that approve of a plan, pause repairs or acknowledge a cause, and what is answered to whoever sends one.

They are there where the sidecar takes them and the viewer may patch the object themselves: that of the plan, or the
ConfigMap that the configuration is mounted from. The exporter writes nothing: the sidecar gets the viewer's token, and
writes with that.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol
from urllib.parse import parse_qs

from aiohttp import web

from ...checks import all_checks
from ...kube.errors import KubeError
from ...kube.reviews import Resource
from ...questions.causes import CauseReport
from ...sidecar.repairs import Plans, Repairs, ReportedRepair
from ...store.kind import ApiKind
from ..access.same_origin import form_token, refusal
from ..access.viewer import may, own_token, visible_to
from ..html.rendering import title_of
from ..server.connections import body_of
from .frame import Frame

ACTION_PATH = "/findings/{fingerprint}/{act}"
_ACTS = ("approve", "pause")
_ACKNOWLEDGE = "acknowledge"
_BYTES = 4096  # of a form
_SECONDS = 10.0  # for it to arrive
_LONGEST_ABOUT = 300  # characters
_FIELDS = ("remediation", "plan", "because", "token")
_FIELDS_OF_ENTRY = ("until", "because", "severity", "token")


class TakesActions(Protocol):
    async def act(self, token: str, wanted: dict[str, str]) -> tuple[int, str]:
        """The status, and what was done or why not."""


class Actions:
    def __init__(
        self, frame: Frame, repairs: Repairs, sidecar: TakesActions | None, clock: Callable[[], float] = time.time
    ) -> None:
        """Without a `sidecar` there are no forms."""
        self._frame, self._repairs, self._sidecar, self._clock = frame, repairs, sidecar, clock
        self._kinds = {kind.name: kind for check in all_checks() for kind in check.reads if isinstance(kind, ApiKind)}

    async def forms(self, request: web.Request, repairs: Iterable[ReportedRepair]) -> dict[str, dict[str, str]]:
        """The tokens of the forms by the remediation, then by the act, of those that the viewer may send."""
        token = own_token(request)
        if token is None or self._taking(request) is None:
            return {}
        found: dict[str, dict[str, str]] = {}
        for each in repairs:
            if acts := await self._acts(request, each):
                found[each.remediation] = {act: form_token(token, _act(act, each), self._clock()) for act in acts}
        return found

    async def acknowledging(self, request: web.Request, cause: CauseReport | None) -> str:
        """The token of the form that acknowledges a cause, as bad as it is now; empty where there is no form."""
        token, plans = own_token(request), self._taking(request)
        place = plans.acknowledges if plans is not None else None
        if token is None or place is None or cause is None or cause.is_known:
            return ""
        wanted = (Resource("", "configmaps", verb, place.namespace, place.name) for verb in ("get", "patch"))
        try:
            allowed = all([await may(request, each) for each in wanted])
        except KubeError:
            return ""  # the command to copy is there
        return form_token(token, (_ACKNOWLEDGE, cause.cause, cause.severity), self._clock()) if allowed else ""

    def _taking(self, request: web.Request) -> Plans | None:
        """What the sidecar said last, where it takes forms from whoever asks."""
        plans = self._repairs.plans
        taken = self._sidecar is not None and visible_to(request) is None and plans is not None and plans.actions
        return plans if taken else None

    async def _acts(self, request: web.Request, repair: ReportedRepair) -> tuple[str, ...]:
        target = repair.bound_to
        kind = self._kinds.get(target.kind) if target is not None else None
        if target is None or kind is None or not repair.hash:
            return ()
        try:
            allowed = await may(request, Resource(kind.group, kind.plural, "patch", target.namespace))
        except KubeError:
            return ()  # the command to copy is there
        return () if not allowed else _ACTS if repair.state == "waiting" else ("pause",)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        of, act = request.match_info["fingerprint"], request.match_info["act"]
        token, sidecar = own_token(request), self._sidecar
        if act not in (*_ACTS, _ACKNOWLEDGE) or sidecar is None:
            return await self._said(request, 404, "Nothing is asked for at this address.", of)
        if token is None:
            return await self._said(request, 401, "The form was sent without a token, with which it is written.", "")
        try:
            fields = await _fields(request, _FIELDS if act in _ACTS else _FIELDS_OF_ENTRY)
        except ValueError as error:
            return await self._said(request, 400, str(error), of)
        named = ("remediation", "plan") if act in _ACTS else ("severity",)
        what = (act, of, *(fields[name] for name in named))
        form = fields.pop("token")
        if refused := refusal(request, token, what, form, self._clock()):
            return await self._said(request, *refused, of)
        wanted = {"act": act, "form": form, **fields}
        if act in _ACTS:
            return await self._said(request, *await sidecar.act(token, {**wanted, "fingerprint": of}), of)
        cause = await self._frame.listing(request).cause(of)
        if cause is None:
            return await self._said(request, 409, "No open finding has this cause any more.", of)
        about = f"{cause.severity} {cause.reason}, {title_of(cause)}"[:_LONGEST_ABOUT]
        status, sentence = await sidecar.act(token, {**wanted, "cause": of, "about": about})
        words = ("steward", "ignore", of, "--until", fields["until"], "--because", fields["because"])
        return await self._said(request, status, sentence, of, "" if status == 200 else shlex.join(words))

    async def _said(
        self, request: web.Request, status: int, sentence: str, fingerprint: str, command: str = ""
    ) -> web.StreamResponse:
        """`command` is what prints the same, for whoever has to put it in by hand."""
        values: dict[str, Any] = {
            "sentence": sentence,
            "fingerprint": fingerprint,
            "done": status == web.HTTPOk.status_code,
            "command": command,
            "of_repair": not request.path.endswith(_ACKNOWLEDGE),
        }
        values["follows"] = False  # it is said once, and at no address
        return await self._frame.page(request, "done.html", values, here="/findings", status=status)


def _act(act: str, repair: ReportedRepair) -> tuple[str, ...]:
    return act, repair.fingerprint, repair.remediation, repair.hash


async def _fields(request: web.Request, names: tuple[str, ...]) -> dict[str, str]:
    """Raises ValueError, one sentence, for what no form of ours sends."""
    if request.content_type != "application/x-www-form-urlencoded":
        raise ValueError("it is no form that was sent")
    if (request.charset or "utf-8").lower() != "utf-8":
        raise ValueError("the form is not in UTF-8, as ours is")
    try:
        sent = parse_qs((await body_of(request, _BYTES, _SECONDS)).decode(), keep_blank_values=True)
    except TimeoutError as error:
        raise ValueError(f"the form was not sent within {_SECONDS:g} s") from error
    except UnicodeDecodeError as error:
        raise ValueError("the form is no text") from error
    if any(name not in names or len(values) > 1 for name, values in sent.items()):
        raise ValueError("the form has fields that ours does not have")
    return {name: sent.get(name, [""])[0] for name in names}
