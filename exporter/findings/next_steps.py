"""The next steps of departures, in the words of the pages of the checks.

The domain says which remedy it is, and with which values; a check, a preview and a report take its text from here.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..domain.drains.departure import Remedy
from ..facts.naming import filled
from .pages import Texts

__all__ = ["next_step"]

_PAGES = {"NodeUnheard": Texts("launchers")}
_EVICTIONS = Texts("evictions")


def next_step(remedy: Remedy, values: Mapping[str, str]) -> str:
    """With values in place of words in capitals. A case without a text of its own has the text of its reason."""
    reason, case = remedy.of
    if not reason:
        return filled(remedy.next, values)
    page = _PAGES.get(reason, _EVICTIONS)
    try:
        text = page.next(reason, case)
    except KeyError:
        text = page.next(reason)
    return filled(text, values)
