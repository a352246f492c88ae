"""Characters that nobody sees, or that turn the direction of what follows: by them a name could pass for another.

They are those that Python does not print, but for spaces, and the printed ones that Unicode wants shown as nothing
(Default_Ignorable_Code_Point), such as variation selectors and Hangul fillers, and the blank of Braille.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["is_seen", "written_out"]

_SPACES = frozenset("\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000")
_IGNORED = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
_DOUBTFUL = re.compile("[^ -~\n\t]")


def is_seen(character: str) -> bool:
    printed = character.isprintable() or character in _SPACES
    return printed and not _IGNORED.match(character)


def written_out(text: str, spelled: Callable[[str], str]) -> str:
    """The text with what nobody sees as it is `spelled`; line breaks and tabs stay."""
    return _DOUBTFUL.sub(lambda found: found[0] if is_seen(found[0]) else spelled(found[0]), text)
