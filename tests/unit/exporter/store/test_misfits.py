"""What is wrong with an object's shape is said in words of its fields, not of the decoder."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from exporter.facts.nesting import misfit


class Status(msgspec.Struct):
    ips: list[str] | None = None
    count: int = 0
    big: float | None = None
    labels: dict[str, str] = {}


class Thing(msgspec.Struct):
    status: Status


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"status": {"ips": "x"}}', "status.ips is text where a list is expected"),
        (b'{"status": {"ips": [1]}}', "status.ips[0] is a whole number where text is expected"),
        (b'{"status": {"count": "many"}}', "status.count is text where a whole number is expected"),
        (b'{"status": {"big": {}}}', "status.big is an object where a number is expected"),
        (b'{"status": {"labels": {"a": true}}}', "status.labels[] is true or false where text is expected"),
        (b'{"status": []}', "status is a list where an object is expected"),
        (b"[]", "it is a list where an object is expected"),
        (b'{"status": ', "the JSON ends too early"),
        (b"{1}", "the JSON is not well-formed"),
        (b'{"status": {"ips": ["\xff"]}}', "the text is not UTF-8"),
    ],
)
def test_a_shape_that_does_not_fit(text: bytes, words: str) -> None:
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)) as raised:
        msgspec.json.decode(text, type=Thing)
    assert misfit(raised.value) == words


@pytest.mark.parametrize("error", [ValueError("'tomorrow' is no time"), KeyError(), RecursionError()])
def test_what_others_say_stays(error: Any) -> None:
    assert misfit(error) == (str(error) or type(error).__name__)
