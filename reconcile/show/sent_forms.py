"""Each form of the page does something once.

A browser sends a form again with a click on Reload, also after somebody else has resumed what it paused. The sidecar
is the one that all replicas of the exporter hand forms to, so it remembers which it has had, for as long as they are
good. It knows nothing of those that came before it started, and so it takes none that was made before.
"""

from __future__ import annotations

from collections.abc import Callable

from exporter.http.access.form_tokens import LASTS, made_at

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
