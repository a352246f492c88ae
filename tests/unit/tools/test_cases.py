"""Cases as data: a file of a wrong form says where, and many cases in one test list each that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.all_of import all_of, named, whole
from tests.case_files import CaseError, load

FINE = "fine:\n  given: [{kind: Pod, name: a}]\n  finds: []\n"


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("bad:\n  given: []\n", 4, "case bad lacks `finds`"),
        ("bad:\n  given: [{kind: Pod}]\n  finds: []\n", 4, "row 1, something else than an object"),
        ("bad:\n  given: []\n  finds: []\n  find: []\n", 4, "has `find`, which is none of given, finds, but"),
        ("\nbad:\n  given: {}\n  finds: []\n", 5, "has a `given` of another form"),
        ("bad:\n  given: []\n  finds: [{reason: A, message: b}]\n", 4, "row 1, what is compared with nothing: message"),
        ("bad:\n  given: []\n  finds: [A]\n", 4, "row 1, what is compared with nothing: 'A'"),
        ("bad: []\n", 4, "case bad is no mapping"),
        ("bad: [\n", 5, "this is not YAML"),
    ],
)
def test_a_file_of_a_wrong_form_says_which_line(tmp_path: Path, text: str, line: int, why: str) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(FINE + text, encoding="utf-8")
    with pytest.raises(CaseError) as raised:
        load(file, {"given": list, "finds": list}, {"but": list}, ("reason",))
    assert str(raised.value).startswith(f"{file}:{line}: ")
    assert why in str(raised.value)


def test_a_file_that_is_missing_says_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"no.yaml is missing: it has the cases, such as `name: ") as raised:
        load(tmp_path / "no.yaml", {"given": list, "finds": list}, {})
    assert str(raised.value).startswith(str(tmp_path))


def test_a_file_of_the_right_form_is_read(tmp_path: Path) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(FINE, encoding="utf-8")
    assert list(load(file, {"given": list, "finds": list}, {})) == ["fine"]


def test_all_cases_are_tried_and_those_that_fail_are_listed() -> None:
    tried = []

    @all_of(named(range(5), str), whole)
    def even(number: int) -> None:
        tried.append(number)
        assert number % 2 == 0, "odd"

    (marked,) = (mark for mark in even.pytestmark if mark.name == "parametrize")
    cases: list[Any] = marked.args[1]
    with pytest.raises(ExceptionGroup, match="2 of 5 cases fail: 1, 3") as raised:
        even(*cases)
    assert tried == [0, 1, 2, 3, 4]
    assert [str(each).partition("\n")[0] for each in raised.value.exceptions] == ["odd", "odd"]
