"""What the sidecar reports: how it is followed over HTTP, what is kept of it, and what becomes unknown."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from msgspec import UNSET

from exporter.engine.evaluate import at_once
from exporter.sidecar import Plans, Repairs, decoding
from tests.all_of import each_of
from tests.reported_repairs import QUICK, following, plans, repair, sidecar

from ....tls_clients import Tls


def decode(answer: Any) -> Plans:
    return at_once(decoding(answer if isinstance(answer, bytes) else json.dumps(answer).encode()))


def states(repairs: Repairs, fingerprint: str = "f1") -> list[str]:
    found = repairs.of(fingerprint)
    assert found is not UNSET
    return [each.state for each in found]


# -- what is kept


def test_repairs_are_kept_by_finding_and_without_a_sidecar_there_are_none() -> None:
    followed, off = Repairs(5.0), Repairs()
    assert (off.followed, off.of("f1"), off.unknown_since) == (False, UNSET, None)
    assert (followed.followed, followed.of("f1"), followed.unknown_since) == (True, (), 5.0)
    refused = repair(state="refused", refused={"precondition": "no_pod_uses_it", "why": "a pod uses it"}, hash="")
    followed.take(decode(plans("1", repair(), refused, repair("f2", state="done"))))
    assert states(followed) == ["planned", "refused"]
    assert states(followed, "f2") == ["done"]
    assert (followed.unknown_since, followed.why) == (None, "")


def test_the_version_grows_with_each_change_and_with_nothing_else() -> None:
    repairs = Repairs(5.0)
    answers = [plans("1"), plans("1", repair()), plans("1", repair(state="done")), plans("2", repair(state="done"))]
    versions = [repairs.version]
    for each in answers:
        for _ in range(2):
            repairs.take(decode(each))
        versions.append(repairs.version)
    for why, now in (("refused", 10.0), ("refused", 11.0), ("timeout", 12.0)):
        repairs.lost(why, now)
        versions.append(repairs.version)
    assert versions == [0, 1, 2, 3, 4, 5, 5, 6]
    assert (repairs.unknown_since, repairs.why, states(repairs)) == (10.0, "timeout", ["done"])
    repairs.take(decode(answers[-1]))
    assert (repairs.unknown_since, repairs.version) == (None, 7)


def test_texts_are_cut_and_lists_are_short() -> None:
    long = repair(
        why="w" * 5000,
        write="p" * 50_000,
        loses=["10.0.0.1"] * 50 + ["x" * 5000],
        blocked=[{"gate": f"g{at}", "why": "y" * 5000} for at in range(30)],
        commands=["short", "rm " + "z" * 5000, *["more"] * 30],
        proposal={"owner": "o" * 5000, "where": "w", "patch": "p" * 50_000},
        refused={"precondition": "same_object", "why": "r" * 5000},
    )
    repairs = Repairs(5.0)
    repairs.take(decode(plans("1", *[long] * 30)))
    found = repairs.of("f1")
    assert isinstance(found, tuple)
    assert len(found) == 10
    cut = found[0]
    assert (len(cut.why), cut.why[-1], len(cut.write)) == (1000, "…", 10_000)
    assert (len(cut.loses), len(cut.blocked), len(cut.blocked[0].why)) == (10, 10, 1000)
    assert cut.commands == ("short", *["more"] * 9)  # a command is whole or not there
    assert cut.proposal is not None
    assert (len(cut.proposal.owner), len(cut.proposal.patch)) == (1000, 10_000)
    assert cut.refused is not None
    assert len(cut.refused.why) == 1000


BAD: list[Any] = [
    b"",
    b"<html>",
    b"[]",
    b"null",
    b"\xff",
    b'{"generation": "1"}',
    plans(1),  # type: ignore[arg-type] # as a wrong sidecar might
    plans("1", {"fingerprint": "f1"}),
    plans("1", repair(at=1e300)),
    plans("1", repair(at=-1.0)),
    plans("1", repair(blocked=[{"gate": "window", "why": "", "until": 1e18}])),
    plans("1", repair(loses="10.0.0.5")),
    b'{"generation": "1", "leading": true, "more": ' + b"[" * 100_000,
    b'{"generation": "\\ud800", "leading": true}',
]


@each_of("body", BAD, ids=lambda body: str(body)[:50])
def test_what_no_sidecar_answers_is_refused(body: Any) -> None:
    with pytest.raises(ValueError, match="the response is not from a sidecar: "):
        decode(body)


def test_many_repairs_are_decoded_in_turns() -> None:
    modes = {f"m{at}{'x' * 500}": "y" * 500 for at in range(300)}
    answer = json.dumps(plans("1", *(repair(f"f{at}") for at in range(5000)), modes=modes)).encode()
    steps = decoding(answer)
    assert sum(1 for _ in steps) == 50
    decoded = decode(answer)
    assert [each.fingerprint for each in decoded.repairs] == [f"f{at}" for at in range(5000)]
    assert len(decoded.modes) == 100
    assert {len(text) for text in (*decoded.modes, *decoded.modes.values())} == {100}


def test_fields_of_a_later_sidecar_are_passed_over() -> None:
    decoded = decode(plans("1", repair(later={"a": 1}, proposal=None), later=True))
    assert decoded.repairs[0].proposal is None


# -- how it is followed


async def test_an_answer_is_held_back_until_there_is_another() -> None:
    async with sidecar() as server, following(server.url) as heard:
        first = await server.request()
        assert (first.path, dict(first.query)) == ("/api/v1/plans", {})
        assert "Authorization" not in first.headers
        assert await heard.next() == ""
        second = await server.request()
        assert (dict(second.query), second.headers["If-None-Match"]) == ({"wait": "5", "since": "1"}, '"1"')
        assert (heard.of("f1"), server.asked.empty()) == ((), True)
        await server.says(plans("2", repair()))
        assert await heard.next() == ""
        assert states(heard) == ["planned"]
        assert (await server.request()).query["since"] == "2"


async def test_unchanged_answers_change_nothing() -> None:
    async with sidecar() as server, following(server.url) as heard:
        await heard.next()
        version = heard.version
        for _ in range(2):
            await server.request()
        server.answers(304)
        await server.says(plans("2"))  # to the request that is held back
        assert await heard.next() == ""
        for _ in range(3):
            assert (await server.request()).query["since"] == "2"
        assert heard.version == version + 1
        assert heard.unknown_since is None


FAILURES = [
    ({"status": 500, "body": b"oops"}, "was answered with 500"),
    ({"status": 401}, "was answered with 401. Set reconcile.tokenFile to a token that the sidecar accepts"),
    ({"status": 403}, "was answered with 403. Set reconcile.tokenFile"),
    ({"status": 404}, "was answered with 404. Set reconcile.url to the sidecar's URL"),
    ({"status": 302, "Location": "http://127.0.0.1:1/"}, "was answered with 302. Set reconcile.url"),
    ({"body": b"<html>"}, "the response is not from a sidecar"),
    ({"body": b" " * ((32 << 20) + 1)}, "the response is larger than 32 MiB"),
    ({"body": gzip.compress(b" " * (64 << 20)), "Content-Encoding": "gzip"}, "the response is larger than 32 MiB"),
    ({"body": b"no gzip", "Content-Encoding": "gzip"}, "the response can't be decompressed"),
    ({"body": b"?", "Content-Encoding": "br"}, "compressed as 'br', which was not asked for"),
]


@pytest.mark.parametrize(("answer", "why"), FAILURES, ids=[why for _, why in FAILURES])
async def test_a_failure_is_one_log_line_and_makes_repairs_unknown(
    answer: dict[str, Any], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with sidecar() as server, following(server.url) as heard:
        await server.says(plans("2", repair()))
        while states(heard) != ["planned"]:
            await heard.next()
        server.answers(**answer)
        await server.says(plans("3"))
        with caplog.at_level(logging.INFO, "exporter.sidecar"):
            while not (said := await heard.next()):
                pass
            for _ in range(3):
                assert await heard.next() == said
            assert said.startswith(f"the repairs can't be read from {server.url}: ")
            assert why in said
            assert heard.unknown_since is not None
            assert [record.levelname for record in caplog.records] == ["WARNING"]
            server.answer = None
            await server.says(plans("4", repair(state="done")))
            while await heard.next():
                pass
        assert states(heard) == ["done"]
        assert heard.unknown_since is None
        assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


async def test_unchanged_is_no_answer_to_who_knows_nothing() -> None:
    async with sidecar() as server:
        server.answers(304)
        async with following(server.url) as heard:
            assert (await heard.next()).endswith("/api/v1/plans was answered with 304")


async def test_a_sidecar_that_hangs_is_given_up_and_asked_again() -> None:
    async def hang(_: web.BaseRequest) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async with sidecar() as server:
        server.answer = hang
        async with following(server.url, replace(QUICK, change=0, answer=0.05)) as heard:
            assert (await heard.next()).endswith("/api/v1/plans was not answered within 0.05 s")
            server.answer = None
            while await heard.next():
                pass
            assert heard.unknown_since is None


async def test_a_sidecar_that_is_not_there_yet_or_breaks_off_is_asked_again() -> None:
    async with sidecar() as server:
        port = int(server.url.rpartition(":")[2])
    async with following(server.url) as heard:
        assert "127.0.0.1" in await heard.next()

        async def broken(request: web.BaseRequest) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Length": "100"})
            await response.prepare(request)
            await response.write(b'{"generation"')
            assert request.transport is not None
            request.transport.abort()
            return response

        async with sidecar(port=port) as back:
            back.answer = broken
            await back.request()
            while "127.0.0.1:" in (said := await heard.next()).partition("plans: ")[2]:
                pass  # of before it was there
            assert said
            back.answer = None
            while await heard.next():
                pass
            assert heard.unknown_since is None


async def test_the_token_is_read_again_for_each_request(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    async with sidecar() as server, following(server.url, token_file=str(token)) as heard:
        assert (await server.request()).headers["Authorization"] == "Bearer first"
        await server.request()
        token.write_text("second")
        await server.says(plans("2"))
        assert (await server.request()).headers["Authorization"] == "Bearer second"
        for content in (b"", b"two words", b"line\nbreak", "ä".encode()):
            token.write_bytes(content)
            await server.says(plans(repr(content)))
            while not (said := await heard.next()).endswith(f"{token} has no token: one line of ASCII is expected"):
                pass
            assert said
            token.write_text("third")
            while await heard.next():
                pass
        token.unlink()
        await server.says(plans("last"))
        while not (said := await heard.next()):
            pass
        assert "No such file" in said


async def test_the_certificate_is_verified(tls: Tls, tmp_path: Path) -> None:
    async with sidecar(tls.server) as server:
        async with following(server.url, ca_file=tls.ca) as heard:
            assert await heard.next() == ""
        async with following(server.url) as heard:
            assert "certificate" in await heard.next()
        (tmp_path / "none.pem").write_text("nothing")
        async with following(server.url, ca_file=str(tmp_path / "none.pem")) as heard:
            assert "none.pem has no certificates in PEM form" in await heard.next()
        async with following(server.url, ca_file=str(tmp_path / "missing.pem")) as heard:
            assert "missing.pem can't be read: No such file" in await heard.next()
    async with sidecar(tls.serves("elsewhere.example")) as server:
        async with following(server.url, ca_file=tls.ca) as heard:
            assert "certificate" in await heard.next()
        async with following(server.url, ca_file=tls.ca, server_name="elsewhere.example") as heard:
            assert await heard.next() == ""
        async with following(server.url, ca_file=tls.ca, server_name="else.example") as heard:
            assert "certificate" in await heard.next()
