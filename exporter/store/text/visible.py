"""Characters that nobody sees, or that turn the direction of what follows: by them a name could pass for another.

They are those that Python does not print, but for spaces, and the printed ones that Unicode wants shown as nothing
(Default_Ignorable_Code_Point), such as variation selectors and Hangul fillers, and the blank of Braille.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

_SPACES = frozenset("\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000")
_IGNORED = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_DOUBTFUL = re.compile("[^ -~\n\t]")
_FORMULA = ("=", "+", "-", "@")  # with which a spreadsheet takes a cell for one


def is_seen(character: str) -> bool:
    printed = character.isprintable() or character in _SPACES
    return printed and not _IGNORED.match(character)


def written_out(text: str, spelled: Callable[[str], str]) -> str:
    """The text with what nobody sees as it is `spelled`; line breaks and tabs stay."""
    return _DOUBTFUL.sub(lambda found: found[0] if is_seen(found[0]) else spelled(found[0]), text)


def json_written_out(text: str) -> str:
    """The same of a text in JSON, which says the same afterwards."""
    return text if text.isascii() and "\x7f" not in text else written_out(text, _in_json)


def cell(text: str) -> str:
    """The text as one of CSV: in one line, with what nobody sees written out, and no formula."""
    shown = written_out(text, _in_json).replace("\n", "\\n").replace("\t", "\\t")
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def _in_json(character: str) -> str:
    return json.dumps(character)[1:-1]
