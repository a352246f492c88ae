"""Tables on a terminal: no line is wider than it, and nothing of a table is left out."""

from __future__ import annotations

from exporter.cli.output.text.layout import grid

HEAD = ("KIND", "NAME", "VMS", "STATE", "FINDINGS")
ROWS = [
    ("instancetype", "u1.large", "18", "missing", "1 LabellessPin, 1 RevisionMissing, 1 RevisionNotOwned"),
    ("preference", "windows.11", "3", "-", "-"),
]


def test_elsewhere_than_on_a_terminal_it_is_a_table_of_one_line_each() -> None:
    assert grid(HEAD, ROWS, None) == (
        "KIND          NAME        VMS  STATE    FINDINGS\n"
        "instancetype  u1.large    18   missing  1 LabellessPin, 1 RevisionMissing, 1 RevisionNotOwned\n"
        "preference    windows.11  3    -        -\n"
    )


def test_the_last_cell_is_broken_between_words_below_itself() -> None:
    assert grid(HEAD, ROWS, 72) == (
        "KIND          NAME        VMS  STATE    FINDINGS\n"
        "instancetype  u1.large    18   missing  1 LabellessPin, 1\n"
        "                                        RevisionMissing, 1\n"
        "                                        RevisionNotOwned\n"
        "preference    windows.11  3    -        -\n"
    )


def test_a_row_without_room_has_aligned_lines_and_none_for_nothing() -> None:
    assert grid(HEAD, ROWS, 40) == (
        "KIND          NAME        VMS  STATE\n"
        "  FINDINGS\n"
        "instancetype  u1.large    18   missing\n"
        "  1 LabellessPin, 1 RevisionMissing, 1\n"
        "  RevisionNotOwned\n"
        "preference    windows.11  3    -\n"
    )


def test_a_name_is_never_broken() -> None:
    name = "n" * 50
    assert name in grid(("NAME", "WHAT"), [(name, "is wrong")], 40).splitlines()


def test_what_follows_a_row_follows_its_last_line() -> None:
    assert grid(("NAME", "WHAT"), [("a", "one two three four five six")], 30, ["  next\n"]) == (
        "NAME  WHAT\na     one two three four five\n      six\n  next\n"
    )
