"""A log line is one line, whoever wrote what it is filled in with; and no log line can end the program."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from demo.apiserver.errors import ApiError
from exporter.cli.output.text.logs import log_as, safe, say
from exporter.kube.errors import StatusError
from tests.all_of import each_of
from tests.fakeapi.apiserver import FakeApiServer
from tests.fakeapi.faults import Fault
from tests.unit.exporter.kube.fault_acts import plain_lists
from tests.unit.exporter.kube.fault_stage import staged

FORGED = 'no\nlevel=INFO logger=exporter.kube.watch.reflector event="listed" kind=Node objects=0 took=0.1'
OURS = logging.getLogger("exporter.kube.test")
THEIRS = logging.getLogger("kubernetes.test")


pytestmark = pytest.mark.usefixtures("root_logger")


@pytest.fixture(params=["logfmt", "json"])
def form(request: pytest.FixtureRequest) -> str:
    log_as("info", request.param)
    return str(request.param)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


@each_of(
    ("text", "written"),
    [
        ("plain, grüße, 日本", "plain, grüße, 日本"),
        ('a" event="listed', 'a\\" event=\\"listed'),
        ("a\\", "a\\\\"),
        ("a\r\n\tb", "a\\r\\n\\tb"),
        ("\x1b[2J\x00\x7f\x9b", "\\x1b[2J\\x00\\x7f\\x9b"),
        ("\u202eevil\u2028\ufeff", "\\u202eevil\\u2028\\ufeff"),
        ("\udc80", "\\udc80"),
        ("x" * 3000, "x" * 2000 + "…"),
    ],
)
def test_a_text_is_safe_within_quotes(text: str, written: str) -> None:
    assert safe(text) == written


def test_what_a_line_is_filled_in_with_stays_within_its_quotes(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    OURS.warning('event="source failed" kind=%s n=%d took=%.3f why="%s"', "Node", 3, 0.5, StatusError(500, FORGED))
    (line,) = lines(capsys)
    message = json.loads(line)["message"] if form == "json" else line.partition("test ")[2]
    assert message.startswith('event="source failed" kind=Node n=3 took=0.500 why="500 no\\nlevel=INFO')
    assert 'event="listed"' not in message
    assert 'event=\\"listed\\"' in message


def test_what_a_library_logs_is_one_line_too(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    THEIRS.error(FORGED)
    (line,) = lines(capsys)
    if form == "json":
        assert json.loads(line)["message"] == FORGED
    else:
        assert line.startswith('level=ERROR logger=kubernetes.test message="no\\nlevel=INFO')
        assert 'event="listed"' not in line


def test_a_traceback_is_in_the_line(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError(FORGED)
    except ValueError as error:
        OURS.error('event="check crashed" check=%s', "x", exc_info=error)
    (line,) = lines(capsys)
    text = json.loads(line)["exception"] if form == "json" else line
    assert "Traceback (most recent call last)" in text
    assert "ValueError: no" in text
    assert line.isprintable()


def test_a_line_that_cannot_be_filled_in_is_said_to_be_lost(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    logging.root.handlers.clear()  # that of pytest raises
    log_as("info", form)
    OURS.error("n=%d", "text")
    (line,) = lines(capsys)
    assert 'event="log line lost" of=exporter.kube.test why="TypeError"' in line


def test_nothing_is_logged_where_nothing_can_be_written(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full").open("w", encoding="utf-8", buffering=1)  # noqa: SIM115 # it can't be closed in order
    monkeypatch.setattr("sys.stderr", full)
    OURS.error("lost")
    say("lost too")
    with pytest.raises(OSError, match="No space left"):
        full.close()
    monkeypatch.setattr("sys.stderr", None)
    OURS.error("lost")
    say("lost too")
    monkeypatch.undo()


def test_lines_of_the_sidecar_have_their_keys_too(capsys: pytest.CaptureFixture[str]) -> None:
    log_as("info")
    logging.getLogger("reconcile.carry_out.loop").info('event="storm" state=%s', "normal")

    assert capsys.readouterr().err == 'level=INFO logger=reconcile.carry_out.loop event="storm" state=normal\n'


async def test_an_answer_of_the_api_server_forges_no_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def lying(server: FakeApiServer) -> None:
        plain_lists(server)
        answer = ApiError(500, "InternalError", FORGED)
        server.faults.add(Fault("/ipamclaims", watch=False, answer=lambda *_: answer, times=1))

    log_as("warning")
    async with staged(tmp_path, lying, {}) as stage:
        await stage.until_true()
    (line,) = [line for line in lines(capsys) if "objects=0" in line]
    assert line.startswith('level=WARNING logger=exporter.kube.watch.reflector event="source failed" kind=IPAMClaim')
    assert 'event="listed"' not in line
