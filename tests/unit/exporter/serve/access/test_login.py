"""The login by a form: what a session is, how it begins and ends, and what an attacker gets."""

from __future__ import annotations

import re

import pytest

from exporter.kube.errors import UnreachableError
from exporter.serve.access.access import FINDINGS, METRICS
from exporter.serve.access.browsers import COOKIE, own_path

from .....access_stage import SECONDS, login_stage
from .....all_of import each_of


async def test_a_token_opens_a_session_that_leads_to_the_page_that_was_asked_for() -> None:
    async with login_stage() as stage:
        stage.reviews.add("good", FINDINGS)
        asked = await stage.get("/findings?severity=critical&open=a%26b")
        assert asked.status == 401
        assert 'name="next" value="/findings?severity=critical&amp;open=a%26b"' in asked.text
        entered = await stage.log_in("good", "/findings?severity=critical&open=a%26b")
        assert (entered.status, entered.headers["Location"]) == (303, "/findings?severity=critical&open=a%26b")
        seen = await stage.get("/findings", entered.session)
        assert (seen.status, seen.text) == (200, "everything for user-of-good")


async def test_what_the_cookie_is() -> None:
    async with login_stage() as stage:
        stage.reviews.add("a-secret-token", FINDINGS)
        entered = await stage.log_in("a-secret-token")
        morsel = entered.cookies[COOKIE]
        assert COOKIE.startswith("__Host-")
        assert morsel["secure"]
        assert morsel["httponly"]
        assert (morsel["samesite"], morsel["path"], morsel["domain"]) == ("Strict", "/", "")
        assert morsel["max-age"] == str(int(SECONDS))
        assert "secret" not in str(entered.headers)
        assert entered.headers["Cache-Control"] == "no-store"
        assert re.fullmatch(r"[\w-]{40,}", entered.session)


async def test_only_a_browser_gets_the_form() -> None:
    async with login_stage() as stage:
        for path, accept in (("/", "*/*"), ("/api/v1/findings", "text/html"), ("/metrics", "text/html")):
            answer = await stage.get(path, Accept=accept)
            assert (answer.status, "<form" in answer.text) == (401, False)
        form = await stage.get("/")
        assert "WWW-Authenticate" not in form.headers  # or a browser opens a window of its own before it
        basic = await stage.get("/", Accept="*/*")
        assert [each.partition(" ")[0] for each in basic.headers.getall("WWW-Authenticate")] == ["Bearer", "Basic"]


async def test_the_form_runs_and_loads_nothing_foreign() -> None:
    async with login_stage() as stage:
        form = await stage.get("/login")
        policy = form.headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
            assert part in policy
        assert "<script" not in form.text
        assert re.findall(r'(?:src|href|action)="([^"]*)"', form.text) == ["/style.css", "/", "/login"]


@pytest.mark.parametrize(
    ("token", "status", "sentence"),
    [
        ("wrong", 401, "rejects this token"),
        ("", 400, "Invalid token"),
        ("x" * 8001, 400, "Invalid token"),
        ("göd", 400, "Invalid token"),
    ],
)
async def test_a_wrong_token_is_answered_in_a_sentence_and_keeps_the_page(
    token: str, status: int, sentence: str
) -> None:
    async with login_stage() as stage:
        answer = await stage.log_in(token, "/findings")
        assert answer.status == status
        assert sentence in answer.text
        assert 'value="/findings"' in answer.text
        assert not answer.session
        assert not token or token not in answer.text


async def test_a_token_that_was_copied_in_several_lines_is_taken() -> None:
    async with login_stage() as stage:
        stage.reviews.add("abcdef", FINDINGS)
        assert (await stage.log_in(" abc\n  def \r\n")).status == 303


FOREIGN = (
    *("https://evil.example/", "//evil.example/", "/\\evil.example/", "\\\\evil.example", "/\t/evil.example"),
    *("javascript:alert(1)", "evil.example", "", "/%0d%0aSet-Cookie:a=b\r\n", "/\n", "/ü", "/" + "x" * 2000),
    *("/login", "/logout", "/login?next=/logout", "http:/evil.example"),
)


@each_of("to", FOREIGN)
async def test_the_way_back_is_a_page_here(to: str) -> None:
    async with login_stage() as stage:
        stage.reviews.add("good", FINDINGS)
        assert (await stage.log_in("good", to)).headers["Location"] == "/"
        asked = await stage.http.get(f"{stage.url}/login", params={"next": to})
        assert 'name="next" value="/"' in await asked.text()


def test_a_page_here_stays_as_it_is() -> None:
    for path in ("/", "/findings?a=%2F%2Fb", "/vms/ns/db", "/findings?x=https://evil.example/", "/loginx"):
        assert own_path(path) == path


async def test_nobody_is_given_a_session_beforehand() -> None:
    async with login_stage() as stage:
        stage.reviews.add("good", FINDINGS)
        planted = "p" * 43
        entered = await stage.log_in("good", session=planted)
        assert entered.session not in ("", planted)
        assert (await stage.get("/", planted)).status == 401
        again = await stage.log_in("good", session=entered.session)
        assert again.session != entered.session
        assert (await stage.get("/", entered.session)).status == 401  # one browser, one session
        assert (await stage.get("/", again.session)).status == 200


async def test_a_session_ends_by_logging_out_and_by_the_clock() -> None:
    async with login_stage() as stage:
        stage.reviews.add("good", FINDINGS)
        first, second = (await stage.log_in("good")).session, (await stage.log_in("good")).session
        left = await stage.post("/logout", first)
        assert (left.status, left.headers["Location"]) == (303, "/login")
        assert left.cookies[COOKIE]["max-age"] == "0"
        assert [(await stage.get("/", each)).status for each in (first, second)] == [401, 200]
        stage.now += SECONDS - 1
        assert (await stage.get("/", second)).status == 200
        stage.now += 1
        assert (await stage.get("/", second)).status == 401


async def test_a_session_ends_with_its_token() -> None:
    async with login_stage() as stage:
        stage.reviews.add("good", FINDINGS)
        session = (await stage.log_in("good")).session
        del stage.reviews.users["good"]
        stage.now += 61
        answer = await stage.get("/findings", session)
        assert answer.status == 401
        assert "Your session has ended" in answer.text


async def test_who_may_not_see_a_page_can_log_out_and_in_as_another() -> None:
    async with login_stage() as stage:
        stage.reviews.add("scraper", METRICS)
        session = (await stage.log_in("scraper")).session
        answer = await stage.get("/findings", session)
        assert answer.status == 403
        assert "user-of-scraper has no permission" in answer.text
        assert 'action="/logout"' in answer.text
        assert "kubectl create clusterrolebinding" in answer.text
        assert (await stage.get("/metrics", session)).status == 200


async def test_many_wrong_tokens_are_not_asked_about() -> None:
    async with login_stage() as stage:
        stage.reviews.add("good", FINDINGS)
        session = (await stage.log_in("good")).session
        statuses = [(await stage.log_in(f"guess-{at}")).status for at in range(80)]
        assert statuses[:50] == [401] * 50
        assert set(statuses[50:]) == {429}
        assert stage.reviews.asked.count(("token", "guess-79")) == 0
        assert (await stage.get("/", session)).status == 200  # whoever is known does not notice


async def test_guessed_sessions_are_not_asked_about() -> None:
    async with login_stage() as stage:
        for at in range(100):
            assert (await stage.get("/", f"guess-{at}")).status == 401
        assert stage.reviews.asked == []


async def test_one_user_has_a_bounded_number_of_sessions_and_pushes_out_no_other() -> None:
    async with login_stage() as stage:
        stage.reviews.add("good", FINDINGS)
        stage.reviews.add("other", FINDINGS)
        other = (await stage.log_in("other")).session
        own = [(await stage.log_in("good")).session for _ in range(20)]
        seen = [(await stage.get("/", each)).status for each in own]
        assert seen == [401] * 4 + [200] * 16
        assert (await stage.get("/", other)).status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
async def test_a_form_of_another_site_is_refused(origin: str) -> None:
    async with login_stage() as stage:
        stage.reviews.add("good", FINDINGS)
        session = (await stage.log_in("good")).session
        for path in ("/login", "/logout"):
            answer = await stage.post(path, session, {"token": "good"}, Origin=origin, Sec_Fetch_Site="cross-site")
            assert (answer.status, answer.session) == (403, "")
        assert (await stage.get("/", session)).status == 200


async def test_a_form_that_http_of_this_host_has_a_browser_send_is_refused() -> None:
    """Whoever is on the way answers for http:// at any host: Origin has the right host then, and it is another site."""
    async with login_stage() as stage:
        stage.reviews.add("mallory's", FINDINGS)
        opens = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
        own = stage.url.partition("://")[2]
        for site in ("cross-site", "same-site"):
            answer = await stage.log_in("mallory's", Origin=f"http://{own}", Sec_Fetch_Site=site, **opens)
            assert (answer.status, answer.session) == (403, "")
        assert (await stage.get("/login", Sec_Fetch_Site="cross-site", **opens)).status == 200


async def test_nothing_but_the_forms_takes_a_post() -> None:
    async with login_stage() as stage:
        stage.reviews.add("good", FINDINGS)
        session = (await stage.log_in("good")).session
        assert (await stage.post("/findings", session)).status == 405
        assert (await stage.get("/logout", session)).status == 405
        assert (await stage.get("/", session)).status == 200


async def test_a_form_is_bounded() -> None:
    async with login_stage() as stage:
        answer = await stage.log_in("x" * 40_000)
        assert answer.status == 413


async def test_without_the_api_server_nobody_logs_in_and_the_form_says_so() -> None:
    async with login_stage() as stage:
        stage.reviews.failure = UnreachableError("away")
        answer = await stage.log_in("good")
        assert (answer.status, answer.session) == (503, "")
        assert "asked to review this token" in answer.text


async def test_a_link_of_another_site_asks_once_more_from_here() -> None:
    async with login_stage() as stage:
        arrives = await stage.get(
            "/findings?a=1", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document"
        )
        assert '<meta http-equiv="refresh" content="0; url=/findings?a=1">' in arrives.text
        again = await stage.get("/findings?a=1", Sec_Fetch_Site="same-origin")
        assert (again.status, "http-equiv" in again.text) == (401, False)


async def test_a_proxy_hands_over_the_token_in_the_header_that_is_set_and_in_no_other() -> None:
    async with login_stage(token_header="X-Forwarded-Access-Token") as stage:
        stage.reviews.add("good", FINDINGS)
        for sent, status in (("good", 200), ("wrong", 401), ("", 401), ("good good", 401)):
            answer = await stage.get("/", X_Forwarded_Access_Token=sent, Authorization="Basic dXNlcjo=")
            assert answer.status == status, sent
        assert (await stage.get("/", Authorization="Bearer good")).status == 200
        assert (
            await stage.get("/", X_Forwarded_User="user-of-good", X_Forwarded_Groups="system:masters")
        ).status == 401
    async with login_stage() as stage:
        stage.reviews.add("good", FINDINGS)
        assert (await stage.get("/", X_Forwarded_Access_Token="good")).status == 401
