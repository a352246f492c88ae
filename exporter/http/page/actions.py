"""Forms that approve of a plan or pause repairs, and what is answered to whoever sends one.

They are there where the sidecar takes them and the viewer may patch the object themselves. The exporter writes nothing:
the sidecar gets the viewer's token, and writes with that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol
from urllib.parse import parse_qs

from aiohttp import web

from ...checks import all_checks
from ...kube.errors import KubeError
from ...kube.reviews import Resource
from ...sidecar.repairs import Repairs, ReportedRepair
from ...store.kind import ApiKind
from ..access.form_tokens import form_token, refusal
from ..access.viewer import may, own_token, visible_to
from ..server.bodies import body_of
from .frame import Frame

__all__ = ["ACTION_PATH", "Actions", "TakesActions"]

ACTION_PATH = "/findings/{fingerprint}/{act}"
_ACTS = ("approve", "pause")
_BYTES = 4096  # of a form
_SECONDS = 10.0  # for it to arrive
_FIELDS = ("remediation", "plan", "because", "token")


class TakesActions(Protocol):
    async def act(self, token: str, wanted: dict[str, str]) -> tuple[int, str]:
        """The status, and what was done or why not."""


class Actions:
    def __init__(
        self,
        frame: Frame,
        repairs: Repairs,
        sidecar: TakesActions | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Without a `sidecar` there are no forms."""
        self._frame, self._repairs, self._sidecar, self._clock = frame, repairs, sidecar, clock
        self._kinds = {kind.name: kind for check in all_checks() for kind in check.reads if isinstance(kind, ApiKind)}

    async def forms(self, request: web.Request, repairs: Iterable[ReportedRepair]) -> dict[str, dict[str, str]]:
        """The tokens of the forms by the remediation, then by the act, of those that the viewer may send."""
        token, plans = own_token(request), self._repairs.plans
        if (
            self._sidecar is None
            or visible_to(request) is not None
            or token is None
            or plans is None
            or not plans.actions
        ):
            return {}
        found: dict[str, dict[str, str]] = {}
        for each in repairs:
            if acts := await self._acts(request, each):
                found[each.remediation] = {act: form_token(token, _act(act, each), self._clock()) for act in acts}
        return found

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
        fingerprint, act = request.match_info["fingerprint"], request.match_info["act"]
        token = own_token(request)
        if act not in _ACTS or self._sidecar is None:
            return await self._said(request, 404, "Nothing is asked for at this address.", fingerprint)
        if token is None:
            return await self._said(request, 401, "The form was sent without a token, with which it is written.", "")
        try:
            fields = await _fields(request)
        except ValueError as error:
            return await self._said(request, 400, str(error), fingerprint)
        what = (act, fingerprint, fields["remediation"], fields["plan"])
        if refused := refusal(request, token, what, fields["token"], self._clock()):
            return await self._said(request, *refused, fingerprint)
        wanted = {"act": act, "fingerprint": fingerprint, "remediation": fields["remediation"]}
        wanted |= {"plan": fields["plan"], "because": fields["because"]}
        status, sentence = await self._sidecar.act(token, wanted)
        return await self._said(request, status, sentence, fingerprint)

    async def _said(self, request: web.Request, status: int, sentence: str, fingerprint: str) -> web.StreamResponse:
        sentence = f"{sentence[:1].upper()}{sentence[1:]}"
        sentence = sentence if sentence.endswith(".") else f"{sentence}."
        values: dict[str, Any] = {
            "sentence": sentence,
            "fingerprint": fingerprint,
            "done": status == web.HTTPOk.status_code,
        }
        values["follows"] = False  # it is said once, and at no address
        return await self._frame.page(request, "done.html", values, here="/findings", status=status)


def _act(act: str, repair: ReportedRepair) -> tuple[str, ...]:
    return act, repair.fingerprint, repair.remediation, repair.hash


async def _fields(request: web.Request) -> Mapping[str, str]:
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
    if any(name not in _FIELDS or len(values) > 1 for name, values in sent.items()):
        raise ValueError("the form has fields that ours does not have")
    return {name: sent.get(name, [""])[0] for name in _FIELDS}
