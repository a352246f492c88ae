"""An entry of the exporter's configuration that acknowledges a cause, put into the ConfigMap that it is mounted from.

It is written with the token of who asks for it. Where that ConfigMap is made from somewhere else, by Helm or from Git,
the entry would be taken back: then nothing is written, and it is said where it belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import msgspec

from exporter.config.editing import with_entry
from exporter.findings.acknowledged import moment_of
from exporter.store.record import Ref

from ..act.on_behalf import OnBehalf, RefusedError
from ..plan.known_owners import known_owners
from ..plan.requests import metadata

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
