"""What is wrong with a configuration: all of it at once, each with its path and what would be right."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_LONGEST = 60  # characters of a wrong value that are shown
_MOST = 100  # mistakes of one place that are shown


@dataclass(frozen=True)
class Mistake:
    """`place` is the file, `environment` or `command line`; `path` is the key there, empty for all of the place."""

    place: str
    path: str
    what: str


@dataclass(frozen=True)
class Mistakes:
    """At least one mistake. Its text is what a user gets."""

    each: tuple[Mistake, ...]

    def __str__(self) -> str:
        places: dict[str, list[Mistake]] = {}
        for mistake in self.each:
            places.setdefault(mistake.place, []).append(mistake)
        return "\n".join(line for place, found in places.items() for line in _lines(place, found))


class MistakesError(Exception):
    """The configuration is wrong; the text says all of it."""


def _lines(place: str, found: list[Mistake]) -> Iterable[str]:
    yield f"{place}, {len(found)} mistake{'s' if len(found) > 1 else ''}:"
    for mistake in found[:_MOST]:
        yield f"  {mistake.path}: {mistake.what}" if mistake.path else f"  {mistake.what}"
    if len(found) > _MOST:
        yield f"  and {len(found) - _MOST} more"


def quoted(value: object) -> str:
    """A wrong value as the file may have it, short and on one line."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool | int | float) else str(value)
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def listed(options: Sequence[str]) -> str:
    return f"{', '.join(options[:-1])} or {options[-1]}" if len(options) > 1 else options[0]


def nearest(word: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The name that was probably meant: the same but for case and separators, else one that looks like it."""
    import difflib  # only where something is wrong

    plain = {_plain(name): name for name in known}
    close = difflib.get_close_matches(_plain(word[:100]), plain, 1, alike)
    return plain[close[0]] if close else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
