"""Who is let in, by what the API server answers, and what is remembered of it."""

from __future__ import annotations

import asyncio
import base64
import logging
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest

from exporter.kube.errors import StatusError, UnreachableError
from exporter.kube.reviews import Attributes, Path, Resource, User
from exporter.serve.access.access import FINDINGS, METRICS
from exporter.serve.access.decisions import Times

from .....access_stage import VMS, in_namespace, staged
from .....all_of import each_of

AWAY = UnreachableError("no connection to the API server")


WRONG = {
    "none": [],
    "empty": [("Authorization", "")],
    "no scheme": [("Authorization", "good")],
    "another scheme": [("Authorization", "Digest good")],
    "empty token": [("Authorization", "Bearer ")],
    "two headers": [("Authorization", "Bearer good"), ("Authorization", "Bearer good")],
    "two tokens": [("Authorization", "Bearer good good")],
    "no ASCII": [("Authorization", "Bearer g\u00f6\u00f6d")],
    "too long": [("Authorization", f"Bearer {'x' * 8001}")],
    "no base64": [("Authorization", "Basic good!")],
    "no password": [("Authorization", f"Basic {base64.b64encode(b'good').decode()}")],
}


@each_of("headers", WRONG.values(), ids=WRONG)
async def test_what_is_no_token_is_not_asked_about(headers: list[tuple[str, str]]) -> None:
    async with staged() as stage:
        stage.reviews.add("good", FINDINGS)
        status, body, given = await stage.get("/", *headers)
        assert (status, stage.reviews.asked) == (401, [])
    assert "bearer token" in body
    assert [each.partition(" ")[0] for each in given.getall("WWW-Authenticate")] == ["Bearer", "Basic"]


async def test_only_what_a_browser_shows_asks_it_for_a_password() -> None:
    async with staged() as stage:
        for path in ("/metrics", "/api/v1/findings"):
            _, _, given = await stage.get(path, token="wrong")
            assert [each.partition(" ")[0] for each in given.getall("WWW-Authenticate")] == ["Bearer"]


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "Basic", "BASIC"])
async def test_a_token_is_taken_as_bearer_or_as_password(scheme: str) -> None:
    sent = "good" if scheme.lower() == "bearer" else base64.b64encode(b"any:good").decode()
    async with staged() as stage:
        stage.reviews.add("good", FINDINGS)
        assert (await stage.get("/", ("Authorization", f"{scheme} {sent}")))[:2] == (200, "everything")


async def test_a_path_with_a_token_of_its_own_is_left_to_it() -> None:
    async with staged() as stage:
        assert (await stage.get("/own"))[0] == 200


async def test_what_each_role_opens() -> None:
    async with staged() as stage:
        stage.reviews.add("viewer", FINDINGS)
        stage.reviews.add("scraper", METRICS)
        stage.reviews.add("tenant", in_namespace("b"))
        stage.reviews.add("every", VMS)
        stage.reviews.add("nobody")
        seen = {
            token: [await stage.status(path, token) for path in ("/metrics", "/", "/api/v1/drain", "/nothing")]
            for token in ("viewer", "scraper", "tenant", "every", "nobody", "unknown")
        }
        assert seen == {
            "viewer": [403, 200, 200, 404],
            "scraper": [200, 403, 403, 403],
            "tenant": [403, 200, 403, 403],
            "every": [403, 200, 403, 403],
            "nobody": [403, 403, 403, 403],
            "unknown": [401, 401, 401, 401],
        }
        assert (await stage.get("/", token="tenant"))[1] == "['b']"
        assert (await stage.get("/", token="every"))[1] == "['all']"


async def test_a_refusal_says_what_is_missing_and_how_it_is_granted() -> None:
    async with staged() as stage:
        stage.reviews.users["t"] = "system:serviceaccount:mon:prom"
        stage.reviews.users["u"] = "o'hara@example.org"
        stage.reviews.may = {name: set() for name in stage.reviews.users.values()}
        status, body, _ = await stage.get("/metrics", token="t")
        assert status == 403
        role = "steward-metrics-reader"
        assert f"clusterrolebinding {role}-mon-prom --clusterrole={role} --serviceaccount=mon:prom" in body
        _, body, headers = await stage.get("/api/v1/drain", token="u")
        assert headers["Content-Type"].startswith("application/json")
        assert "--clusterrole=steward-viewer '--user=o'" in body
        assert "kubectl create rolebinding" in (await stage.get("/", token="u"))[1]


async def test_with_namespaces_given_only_these_are_asked_for() -> None:
    async with staged(known=[f"n{at}" for at in range(100)]) as stage:
        stage.reviews.add("tenant", in_namespace("b"))
        assert (await stage.get("/?namespace=b,c", token="tenant"))[1] == "['b']"
        asked = [what.namespace for _, what in stage.reviews.asked if isinstance(what, Resource) and what.namespace]
        assert sorted(asked) == ["b", "c"]
        assert await stage.status("/?namespace=c", "tenant") == 403
        assert await stage.status("/?namespace=No_Name", "tenant") == 403
        assert await stage.status(f"/?namespace={','.join(map(str, range(51)))}", "tenant") == 400


async def test_decisions_hold_for_a_while_and_are_then_asked_for_again() -> None:
    async with staged() as stage:
        stage.reviews.add("viewer", FINDINGS)
        stage.reviews.add("tenant", in_namespace("b"))
        for _ in range(3):
            assert await stage.status("/", "viewer") == 200
            assert await stage.status("/", "tenant") == 200
        # Whose tokens, of both whether they see everything; of the tenant each namespace, all of them first.
        assert len(stage.reviews.asked) == 2 + 2 + 3

        stage.reviews.may["user-of-viewer"].clear()
        stage.reviews.may["user-of-tenant"].clear()
        stage.now += 299.0
        assert await stage.status("/", "viewer") == 200
        assert await stage.status("/", "tenant") == 200
        stage.now += 2.0
        assert await stage.status("/", "viewer") == 403
        assert await stage.status("/", "tenant") == 403
        stage.reviews.may["user-of-viewer"].add(FINDINGS)
        stage.now += 29.0
        assert await stage.status("/", "viewer") == 403
        stage.now += 2.0
        assert await stage.status("/", "viewer") == 200


async def test_a_token_that_ends_is_known_for_a_minute_at_most() -> None:
    async with staged() as stage:
        stage.reviews.add("viewer", FINDINGS)
        assert await stage.status("/", "viewer") == 200
        stage.reviews.users.clear()
        stage.now += 59.0
        assert await stage.status("/", "viewer") == 200
        stage.now += 2.0
        assert await stage.status("/", "viewer") == 401


async def test_many_who_ask_at_once_are_one_question_and_one_who_leaves_ends_it_for_nobody() -> None:
    async with staged() as stage:
        stage.reviews.add("viewer", FINDINGS)
        stage.reviews.open.clear()
        asking = [asyncio.create_task(stage.status("/", "viewer")) for _ in range(10)]
        await stage.reviews.began.wait()
        asking[0].cancel()
        await asyncio.wait(asking[:1])
        stage.reviews.open.set()
        assert await asyncio.gather(*asking[1:]) == [200] * 9
        assert stage.reviews.asked == [("token", "viewer"), ("access", FINDINGS)]


async def test_without_the_api_server_what_was_decided_holds_for_a_quarter_of_an_hour(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "exporter.serve.access.decisions")
    async with staged() as stage:
        stage.reviews.add("viewer", FINDINGS)
        stage.reviews.add("late", FINDINGS)
        assert await stage.status("/", "viewer") == 200
        stage.reviews.failure = AWAY
        stage.now += 890.0
        for _ in range(3):
            assert await stage.status("/", "viewer") == 200
            status, body, headers = await stage.get("/api/v1/findings", token="late")
            assert (status, headers["Retry-After"]) == (503, "5")
            assert "Try again" in body
            assert "no connection" not in body  # where the API server is is nothing for strangers
        assert await stage.status("/metrics", "viewer") == 503
        stage.now += 20.0
        assert await stage.status("/", "viewer") == 503
        assert [record.getMessage() for record in caplog.records] == [
            'event="token review failed" why="no connection to the API server"',
            'event="access review failed" why="no connection to the API server"',
        ]
        stage.reviews.failure = None
        assert await stage.status("/", "late") == 200  # that it could not be asked was not kept
        assert await stage.status("/", "viewer") == 200
        assert len(caplog.records) == 4


async def test_without_the_permission_to_ask_the_log_says_what_to_grant(caplog: pytest.LogCaptureFixture) -> None:
    async with staged() as stage:
        stage.reviews.failure = StatusError(403, "tokenreviews is forbidden")
        assert await stage.status("/", "viewer") == 503
    assert "Grant the ClusterRole steward-access" in caplog.text


async def test_wrong_tokens_push_out_no_decision() -> None:
    async with staged() as stage:
        stage.reviews.add("viewer", FINDINGS)
        assert await stage.status("/", "viewer") == 200
        for at in range(5000):
            await stage.access.user(f"wrong{at}", f"10.0.{at // 250}.{at % 250}")
        before = stage.questions("token")
        assert await stage.status("/", "viewer") == 200
        assert stage.questions("token") == before
        assert sum(map(len, stage.access._users._tables.values())) <= 4097


async def test_no_token_is_kept() -> None:
    async with staged() as stage:
        stage.reviews.add("viewer", FINDINGS)
        assert await stage.status("/", "viewer") == 200
        assert "viewer" not in repr(list(stage.access._users._tables[True]))


def test_the_times_are_those_that_are_promised() -> None:
    times = Times()
    assert (times.user, times.allowed, times.denied, times.namespaces, times.outage) == (60, 300, 30, 300, 900)
    assert Path("/metrics") == METRICS


async def test_whoever_guesses_tokens_is_stopped_and_nobody_else_is() -> None:
    async with staged() as stage:
        stage.reviews.add("viewer", FINDINGS)
        stage.reviews.add("late", FINDINGS)
        assert await stage.status("/", "viewer") == 200
        for at in range(50):
            assert await stage.status("/", f"wrong{at}") == 401
        asked = stage.questions("token")
        for at in range(50, 60):
            status, body, headers = await stage.get("/", token=f"wrong{at}")
            assert (status, headers["Retry-After"]) == (429, "5")
            assert "Try again" in body
        assert stage.questions("token") == asked
        stage.now += 61.0
        for at in range(100, 160):
            await stage.status("/", f"wrong{at}")
        assert await stage.status("/", "viewer") == 200  # whose token has to be asked about again
        user = await stage.access.user("late", "10.1.1.1")  # of another address
        assert user is not None
        stage.now += 1.0
        assert await stage.status("/", "late") == 200


async def test_requests_that_wait_for_a_decision_are_few_and_known_users_are_not_among_them() -> None:
    async with staged() as stage:
        stage.reviews.add("viewer", FINDINGS)
        assert await stage.status("/", "viewer") == 200
        stage.reviews.open.clear()
        asking = [asyncio.create_task(stage.status("/", f"wrong{at}")) for at in range(100)]
        done, waiting = set[asyncio.Task[int]](), set(asking)
        async with asyncio.timeout(10):
            while len(waiting) > 32:
                ended, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                done |= ended
        assert {each.result() for each in done} == {429}
        assert stage.questions("token") == 1 + 32
        assert await stage.status("/", "viewer") == 200
        stage.reviews.open.set()
        assert set(await asyncio.gather(*waiting)) == {401}


async def test_strangers_that_wait_keep_no_scraper_of_another_address_out() -> None:
    async with staged() as stage, AsyncExitStack() as clients:
        stage.reviews.add("scraper", METRICS)
        stage.reviews.open.clear()

        async def scrape(token: str, address: str) -> int:
            connector = aiohttp.TCPConnector(local_addr=(address, 0), force_close=True)
            http = await clients.enter_async_context(aiohttp.ClientSession(connector=connector))
            async with http.get(f"{stage.url}/metrics", headers={"Authorization": f"Bearer {token}"}) as answer:
                return answer.status

        addresses = [f"127.0.0.{at}" for at in range(2, 6)]
        crowd = [asyncio.create_task(scrape(f"wrong{at}{each}", each)) for each in addresses for at in range(32)]
        async with asyncio.timeout(20):
            while stage.questions("token") < len(crowd):
                stage.reviews.began.clear()
                await stage.reviews.began.wait()
            scraping = asyncio.create_task(scrape("scraper", "127.0.0.9"))
            more = asyncio.create_task(scrape("scraper2", "127.0.0.2"))  # of a crowd: it is the newest itself
            done, _ = await asyncio.wait((*crowd, scraping, more), return_when=asyncio.FIRST_COMPLETED)
            while len(done) < 2:
                ended, _ = await asyncio.wait({*crowd, more, scraping} - done, return_when=asyncio.FIRST_COMPLETED)
                done |= ended
            assert {each.result() for each in done} == {429}
            assert more in done
            stage.reviews.open.set()
            assert await scraping == 200
            assert sorted(set(await asyncio.gather(*crowd))) == [401, 429]


async def test_many_known_users_whose_decisions_have_to_be_made_again_are_all_answered() -> None:
    async with staged() as stage:
        tokens = [f"viewer{at}" for at in range(50)]
        for each in tokens:
            stage.reviews.add(each, FINDINGS)
            assert await stage.status("/", each) == 200
        stage.now += 61.0
        stage.reviews.open.clear()
        asking = [asyncio.create_task(stage.status("/", each)) for each in tokens]
        async with asyncio.timeout(10):
            while sum(each.done() for each in asking) < len(tokens) - 32:
                await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED, timeout=0.05)
        stage.reviews.open.set()
        assert set(await asyncio.gather(*asking)) == {200}
        assert stage.questions("token") == 2 * len(tokens)
        stage.reviews.users.clear()
        stage.now += 61.0
        assert await stage.status("/", tokens[-1]) == 401


async def test_that_too_many_ask_is_no_outage_in_which_what_was_revoked_holds_on() -> None:
    async with staged() as stage:
        stage.reviews.add("viewer", FINDINGS)
        assert await stage.status("/", "viewer") == 200
        stage.reviews.users.clear()
        for at in range(60):
            await stage.status("/", f"wrong{at}")
        stage.now += 61.0
        assert await stage.status("/", "viewer") == 401


async def test_one_permission_that_is_missing_is_one_log_line_however_many_ask(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """TokenReviews are answered, SubjectAccessReviews are not: as with half of the role."""
    caplog.set_level(logging.INFO, "exporter.serve.access.decisions")

    async def forbidden(*_: Any) -> bool:
        raise StatusError(403, "subjectaccessreviews is forbidden")

    async with staged() as stage:
        stage.reviews.allowed = forbidden  # type: ignore[method-assign, assignment]
        for at in range(5):
            stage.reviews.add(f"viewer{at}", FINDINGS)
            assert await stage.status("/", f"viewer{at}") == 503
    (record,) = caplog.records
    assert "access review failed" in record.getMessage()
    assert "Grant the ClusterRole steward-access" in record.getMessage()


async def test_the_missing_role_is_said_also_where_the_api_server_was_away_before(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with staged() as stage:
        for failure in (AWAY, StatusError(403, "tokenreviews is forbidden")):
            stage.reviews.failure = failure
            assert await stage.status("/", "viewer") == 503
    assert len(caplog.records) == 2
    assert "Grant the ClusterRole steward-access" in caplog.records[1].getMessage()


async def test_a_namespace_that_has_the_name_of_a_deleted_one_is_another_namespace() -> None:
    async with staged() as stage:
        stage.uids = {"a": "u1", "b": "u2"}
        stage.reviews.add("tenant", in_namespace("a"), in_namespace("b"))
        for _ in range(2):
            assert (await stage.get("/", token="tenant"))[1] == "['a', 'b']"
            assert (await stage.get("/?namespace=b", token="tenant"))[1] == "['b']"
        stage.uids["b"] = "u3"
        stage.reviews.may["user-of-tenant"] = {in_namespace("a")}
        assert (await stage.get("/", token="tenant"))[1] == "['a']"
        assert await stage.status("/?namespace=b", "tenant") == 403


async def test_users_of_one_name_are_not_taken_for_each_other() -> None:
    """What they may do can hang on all that the API server said of them."""
    users = {
        "plain": User("anna"),
        "uid": User("anna", "2"),
        "groups": User("anna", "", ("system:masters",)),
        "extra": User("anna", "", (), (("scopes", ("all",)),)),
    }
    async with staged() as stage:

        async def user(token: str, _: str = "", __: str = "") -> User | None:
            return users[token]

        for good in users:
            may = users[good]

            async def allowed(asked: User, attributes: Attributes, _: str = "", may: User = may) -> bool:
                return asked == may and attributes == FINDINGS

            stage.reviews.user, stage.reviews.allowed = user, allowed  # type: ignore[method-assign, assignment]
            stage.now += 301.0
            for token in [*users, *reversed(users)]:
                assert await stage.status("/", token) == (200 if token == good else 403), (good, token)
