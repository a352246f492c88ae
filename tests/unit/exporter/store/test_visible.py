"""What nobody sees is written out, wherever Unicode has it; what somebody writes with is not."""

from __future__ import annotations

import unicodedata

import pytest

from exporter.facts.naming import is_seen, written_out

# Default_Ignorable_Code_Point of DerivedCoreProperties.txt of Unicode 15.1
IGNORABLE = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
UNSEEN = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")  # controls, formats, unassigned, private, halves, separators


def test_whatever_unicode_wants_shown_as_nothing_is_unseen() -> None:
    seen = [hex(each) for first, last in IGNORABLE for each in range(first, last + 1) if is_seen(chr(each))]
    assert seen == []


def test_every_character_without_a_shape_is_unseen_and_every_other_one_is_seen() -> None:
    ignorable = {each for first, last in IGNORABLE for each in range(first, last + 1)} | {0x2800}
    for code in range(0x20000):
        character = chr(code)
        unseen = unicodedata.category(character) in UNSEEN or code in ignorable
        assert is_seen(character) is not unseen, hex(code)


@pytest.mark.parametrize("text", ["db-1", "naïve\ttab\nline", "数据库", "база", "قاعدة", "a\xa0b", "é", "🖥"])
def test_what_somebody_writes_with_stays(text: str) -> None:
    assert written_out(text, lambda _: "?") == text


def test_it_is_spelled_as_it_is_asked_for() -> None:
    assert written_out("d\u200bb\u202e\U000e0041", lambda found: f"<{ord(found):x}>") == "d<200b>b<202e><e0041>"
