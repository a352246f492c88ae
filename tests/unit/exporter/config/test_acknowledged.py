"""The list `acknowledged` of the configuration: what is refused, and that it is followed while the steward runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.checks import all_checks
from exporter.config.loading import Loaded, Sources, load
from exporter.config.mistakes import Mistakes
from exporter.config.settings import acknowledgements_of
from exporter.findings.causes import moment_of
from exporter.findings.severity import Severity
from tests.all_of import each_of

ENTRY = '- {cause: "0123456789abcdef", until: 2026-12-01, because: the vendor knows}\n'


def read(tmp_path: Path, text: str, environment: dict[str, str] | None = None) -> Loaded | Mistakes:
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    return load(all_checks(), Sources(file, environment or {}, {}))


@each_of(
    ("text", "path", "sentence"),
    [
        ("acknowledged: 3", "acknowledged", "3 is not a list of mappings"),
        (
            "acknowledged: [3]",
            "acknowledged.0",
            "3 is not allowed here. Write a mapping with cause, until, because, by, ",
        ),
        (ENTRY.replace("until: 2026-12-01, ", ""), "acknowledged.0.until", "it is missing. Write date or time"),
        (ENTRY.replace("because", "becaus"), "acknowledged.0.becaus", 'no such key. Did you mean "because"?'),
        (ENTRY.replace("2026-12-01", "2026-13-01"), "acknowledged.0.until", '"2026-13-01" is no date or time; write'),
        (ENTRY.replace("2026-12-01", "soon"), "acknowledged.0.until", '"soon" is no date or time; write it as'),
        (ENTRY.replace("0123456789abcdef", "OrphanClaim"), "acknowledged.0.cause", '"OrphanClaim" is not the ID of a'),
        (ENTRY.replace('"0123456789abcdef"', "1234567890123456"), "acknowledged.0.cause", "Write it in quotes"),
        (ENTRY.replace("the vendor knows", '""'), "acknowledged.0.because", '"" is empty'),
        (ENTRY.replace("}", ", severity: bad}"), "acknowledged.0.severity", '"bad" is unknown. Write info, warning'),
        (ENTRY * 2, "acknowledged", "entries 0 and 1, counted from 0, are of the same cause 0123456789abcdef"),
        (ENTRY * 501, "acknowledged", "it has 501 entries, and the limit is 500"),
    ],
)
def test_each_mistake_gets_its_place_and_one_sentence(text: str, path: str, sentence: str, tmp_path: Path) -> None:
    got = read(tmp_path, text if text.startswith("ack") else f"acknowledged:\n{text}")
    assert isinstance(got, Mistakes)
    assert any(each.path == path and sentence in each.what for each in got.each), str(got)


def test_all_mistakes_of_all_entries_are_reported_at_once(tmp_path: Path) -> None:
    got = read(tmp_path, f"acknowledged:\n{ENTRY}- {{cause: x}}\n- {{until: y}}\n")
    assert isinstance(got, Mistakes)
    paths = [each.path for each in got.each]
    assert sorted(paths) == [f"acknowledged.{at}.{name}" for at in (1, 2) for name in ("because", "cause", "until")]


def test_what_is_worse_than_a_warning_comes_back_unless_it_is_acknowledged_too(tmp_path: Path) -> None:
    got = read(tmp_path, f"acknowledged:\n{ENTRY}")
    assert isinstance(got, Loaded)
    known = acknowledgements_of(got.config.acknowledged)
    until = moment_of("2026-12-01")
    assert known.of("0123456789abcdef", Severity.WARNING, until - 1)
    assert known.of("0123456789abcdef", Severity.INFO, until - 1)
    assert not known.of("0123456789abcdef", Severity.CRITICAL, until - 1)
    assert not known.of("0123456789abcdef", Severity.WARNING, until)
    assert not known.of("f" * 16, Severity.INFO, until - 1)


@pytest.mark.parametrize(
    ("text", "same"), [("2026-12-01", "2026-12-01T00:00:00Z"), ("2026-12-01T01:30+01:00", "2026-12-01T00:30:00Z")]
)
def test_a_date_is_its_beginning_in_utc(text: str, same: str) -> None:
    assert moment_of(text) == moment_of(same)


def test_a_variable_has_the_list_as_a_file_does(tmp_path: Path) -> None:
    got = read(tmp_path, "", {"STEWARD_ACKNOWLEDGED": ENTRY})
    assert isinstance(got, Loaded)
    assert len(got.config.acknowledged) == 1
    wrong = read(tmp_path, "", {"STEWARD_ACKNOWLEDGED": "x"})
    assert isinstance(wrong, Mistakes)
    assert [(each.path, each.what) for each in wrong.each] == [
        ("STEWARD_ACKNOWLEDGED", '"x" is not a list of mappings')
    ]
