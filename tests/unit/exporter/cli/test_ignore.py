"""`steward ignore`: the entry that acknowledges a cause, printed or written, and what has come of the entries."""

from __future__ import annotations

import json
import time
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from exporter.__main__ import main
from exporter.config.documents import entry_lines, with_entry
from exporter.config.settings import MOST

NOW = datetime(2026, 11, 21, tzinfo=UTC)
LATER = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
COMMENTED = """# whose cluster this is
logLevel: info # not more

acknowledged:
  # the vendor knows
  - cause: "0123456789abcdef"
    until: 2999-01-01
    because: until the vendor ships it
    # here ends the list
checks:
  sources: {enabled: true}
"""


@pytest.fixture(scope="module")
def before(dump: Path) -> dict[str, Any]:
    """What is found while nothing is acknowledged."""
    with redirect_stdout(StringIO()) as out:
        main(["check", "--from", str(dump), "--complete", "-o", "json"])
    report: dict[str, Any] = json.loads(out.getvalue())
    return report


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def checked(dump: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    _, out, _ = said(capsys, "check", "--from", str(dump), "--complete", "-o", "json", *more)
    report: dict[str, Any] = json.loads(out)
    return report


def config_of(tmp_path: Path, cause: str, until: str = LATER, severity: str = "critical") -> str:
    file = tmp_path / "config.yaml"
    entry = f'- {{cause: "{cause}", until: "{until}", because: the vendor knows, by: alice, severity: {severity}}}'
    file.write_text(f"acknowledged:\n{entry}\n", encoding="utf-8")
    return str(file)


def test_the_entry_that_is_printed_acknowledges_the_cause(
    dump: Path, before: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worst = before["causes"][0]
    words = ("ignore", worst["cause"], "--from", str(dump), "--complete")
    code, out, err = said(capsys, *words, "--until", LATER, "--because", 'a "reason": # of mine', "--by", "alice")
    assert (code, err) == (0, "")
    assert f'- cause: "{worst["cause"]}" # {worst["severity"]} {worst["reason"]}, ' in out
    file = tmp_path / "config.yaml"
    file.write_text(out, encoding="utf-8")
    after = checked(dump, capsys, "--config", str(file))["causes"]
    assert after[-1]["cause"] == worst["cause"]
    assert after[-1]["acknowledged"] == {
        "until": f"{LATER}T00:00:00Z",
        "because": 'a "reason": # of mine',
        "by": "alice",
        "severity": worst["severity"],
    }
    assert len(after) == len(before["causes"])


def test_a_finding_and_the_first_digits_name_the_cause_too(
    dump: Path, before: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    finding = before["findings"][0]
    for wanted in (finding["fingerprint"], finding["cause"][:8], finding["fingerprint"][:9]):
        words = ("ignore", wanted, "--from", str(dump), "--until", LATER, "--because", "x")
        assert f'- cause: "{finding["cause"]}"' in said(capsys, *words)[1]


def test_it_is_written_into_the_file_whose_comments_stay(
    dump: Path, before: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(COMMENTED, encoding="utf-8")
    file.chmod(0o640)
    worst = before["causes"][0]
    words = ("ignore", worst["cause"], "--from", str(dump), "--until", LATER, "--because", "x", "--config", str(file))
    code, out, err = said(capsys, *words, "--write")
    assert (code, err) == (0, "")
    assert str(file) in out
    text = file.read_text("utf-8")
    begin, end = COMMENTED.split("    # here ends the list\n")
    assert text.startswith(begin)
    assert text.endswith("    # here ends the list\n" + end)
    assert f'  - cause: "{worst["cause"]}" # ' in text
    assert file.stat().st_mode & 0o777 == 0o640
    assert [each for each in checked(dump, capsys, "--config", str(file))["causes"] if "acknowledged" in each]
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
    code, _, err = said(capsys, *words, "--write")
    assert (code, err) == (
        2,
        f"steward: the configuration has an entry of cause {worst['cause']} already. Change that entry\n",
    )


@pytest.mark.parametrize("text", ["", "logLevel: info", "# nothing yet\n", "checks: {}\n...\n"])
def test_the_list_is_begun_in_a_file_without_one(
    text: str, dump: Path, before: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    worst = before["causes"][0]
    words = ("ignore", worst["cause"], "--from", str(dump), "--until", LATER, "--because", "x", "--config", str(file))
    code, out, _ = said(capsys, *words, "--write")
    if code:  # what it can't add to it leaves, and prints what to put in
        assert file.read_text("utf-8") == text
        assert f'- cause: "{worst["cause"]}"' in out
    else:
        assert file.read_text("utf-8").startswith(text)
        assert [each for each in checked(dump, capsys, "--config", str(file))["causes"] if "acknowledged" in each]
    assert code == (2 if "..." in text else 0)


@pytest.mark.parametrize("text", ["acknowledged: []\n", "{logLevel: info, acknowledged: []}\n"])
def test_a_file_in_which_it_can_not_be_sure_stays_as_it_is(
    text: str, dump: Path, before: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    worst = before["causes"][0]
    words = ("ignore", worst["cause"], "--from", str(dump), "--until", LATER, "--because", "x", "--config", str(file))
    code, out, err = said(capsys, *words, "--write")
    assert (code, file.read_text("utf-8")) == (2, text)
    assert err.startswith(f"steward: {file} is as it was: ")
    assert f'- cause: "{worst["cause"]}"' in out


def test_what_is_acknowledged_is_said_and_counted_apart(
    dump: Path, before: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worst = before["causes"][0]
    critical = sum(each["severity"] == "critical" for each in before["findings"])
    config = config_of(tmp_path, worst["cause"])
    for command in ("check", "status"):
        _, out, _ = said(capsys, command, "--from", str(dump), "--complete", "--config", config)
        assert f"{critical - worst['findings']} critical, " in out
        assert f"{worst['findings']} acknowledged: {len(before['findings'])} findings of" in out
        if command == "check":
            assert f"acknowledged until {LATER} by alice: the vendor knows\n" in out
    _, page, _ = said(capsys, "check", "--from", str(dump), "--complete", "--config", config, "-o", "html")
    assert f"Acknowledged until {LATER} by alice: the vendor knows" in page
    assert f"<b>{worst['findings']}</b> acknowledged" in page
    assert f"<b>{critical - worst['findings']}</b> critical" in page


def test_it_comes_back_at_its_date_and_when_it_is_worse(
    dump: Path, before: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worst = before["causes"][0]
    assert worst["severity"] == "critical"
    for config in (
        config_of(tmp_path, worst["cause"], until="2020-01-01"),
        config_of(tmp_path, worst["cause"], severity="warning"),
    ):
        assert checked(dump, capsys, "--config", config)["causes"][0] == worst


def test_what_is_acknowledged_does_not_fail_a_check(
    dump: Path, before: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [
        f'- {{cause: "{each["cause"]}", until: "{LATER}", because: x, severity: critical}}'
        for each in before["causes"]
        if each["check"] == "ipam_claims"
    ]
    file = tmp_path / "config.yaml"
    file.write_text("acknowledged:\n" + "\n".join(entries[1:]), encoding="utf-8")
    words = ("check", "--from", str(dump), "--complete", "--check", "ipam_claims", "-n", "billing", "-n", "shop")
    assert len(entries) > 1
    unanswered = said(capsys, *words)[0]
    assert unanswered == 1
    file.write_text("acknowledged:\n" + "\n".join(entries), encoding="utf-8")
    assert said(capsys, *words, "--config", str(file))[0] == 0


def test_the_list_says_what_has_come_of_each(
    dump: Path, before: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    causes = before["causes"]
    ids = [each["cause"] for each in causes if each["severity"] == "critical"][:3]
    rows = [
        (ids[0], LATER, "critical"),
        (ids[1], LATER, "warning"),
        (ids[2], "2020-01-01", "critical"),
        ("0" * 16, LATER, "critical"),
    ]
    file = tmp_path / "config.yaml"
    file.write_text(
        "acknowledged:\n"
        + "".join(f'- {{cause: "{c}", until: "{u}", because: x, severity: {s}}}\n' for c, u, s in rows),
        encoding="utf-8",
    )
    code, out, err = said(capsys, "ignore", "--list", "--from", str(dump), "--config", str(file), "-o", "json")
    # One cause is not open by what is seen, and an object can't be read.
    assert (code, err) == (2, "steward: not everything was seen: a cause that is not open here may be\n")
    assert [(each["cause"], each["state"]) for each in json.loads(out)] == [
        (ids[0], "acknowledged"),
        (ids[1], "worse"),
        (ids[2], "over"),
        ("0" * 16, "closed"),
    ]
    _, out, _ = said(capsys, "ignore", "--list", "--from", str(dump), "--config", str(file))
    assert "no open cause has this id" in out
    assert said(capsys, "ignore", "--list", "--from", str(dump))[1] == "Nothing is acknowledged.\n"


def test_bad_input_gets_one_sentence(dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = ("--until", LATER, "--because", "x")
    over = datetime.fromtimestamp(time.time() - 60, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    wrong = []
    for words, sentence in (
        (("ffffffffffffffff", *good), "no open cause has the id ffffffffffffffff, and no finding"),
        (("", *good), "name the cause by its id"),
        (good, "name the cause by its id"),
        (("0123", "--until", LATER), "say until when, and why: --until 2026-12-01 --because TEXT"),
        (("0123", "--until", LATER, "--because", "  "), "say until when, and why"),
        (("0123", "--until", "soon", "--because", "x"), '--until: "soon" is no date or time; write it as'),
        (("0123", "--until", over, "--because", "x"), f"--until {over} is over already"),
        (("0123", "--until", LATER, "--because", "a\nb"), "--because has to be one line of text"),
        (("0123", "--write", *good), "--write puts the entry into the file of --config; name it"),
        (("0123", "--list"), "--list lists what is acknowledged; it takes no cause"),
    ):
        code, out, err = said(capsys, "ignore", *words, "--from", str(dump))
        if (code, out, err.count("\n")) != (2, "", 1) or sentence not in err:
            wrong.append((words, code, out, err))
    assert not wrong


def entry_of(cause: str) -> dict[str, str]:
    return {"cause": cause, "until": LATER, "because": "x", "severity": "warning"}


def test_no_file_is_written_that_a_steward_would_refuse() -> None:
    """What runs may not have taken an entry of the file yet, and does not say that it is there."""
    with pytest.raises(ValueError, match="has an entry of cause 0123456789abcdef already"):
        with_entry(COMMENTED, entry_of("0123456789abcdef"))
    text = ""
    for number in range(MOST):
        text += "" if text else "acknowledged:\n"
        text += "".join(f"{line}\n" for line in entry_lines(entry_of(f"{number:016x}")))
    with pytest.raises(ValueError, match=f"the limit is {MOST}. Remove expired entries"):
        with_entry(text, entry_of("f" * 16))


@pytest.mark.parametrize("end", ["\n", "\r", "\x85", "\u2028", "\r\n"])
def test_a_name_in_the_comment_adds_no_line(end: str) -> None:
    lines = entry_lines(entry_of("0123456789abcdef"), f"warning, 1 VM in ns{end}insecure: true")
    assert lines[0] == '- cause: "0123456789abcdef" # warning, 1 VM in ns insecure: true'
    assert all(each.isprintable() for each in lines)
