"""/findings: causes that open to findings, counted filters, and all of it in the address."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from html import unescape

import pytest

from exporter.engine.engine import Engine
from exporter.store.source import SyncState

from .....asking import scripts_in
from .....cause_counts import causes_of_vms
from .....rows import full
from .....served import Served, served

FORMULA = "=HYPERLINK(1)"


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served(0, checks=[causes_of_vms(20, 1000)]) as made:
        yield made


async def page(server: Served, query: str = "") -> str:
    status, _, body = await server.get(f"/findings{query}")
    assert status == 200, body
    return unescape(body.decode())


def causes_in(html: str) -> list[str]:
    return re.findall(r'<span class="what">Network (net-\d+)</span>', html)


def facet(html: str, name: str) -> dict[str, int]:
    found = re.findall(rf'name="{name}" value="([^"]*)"[^>]*> <span>[^<]*</span> <small>(\d+)</small>', html)
    return {value: int(count) for value, count in found}


async def test_one_row_a_cause_the_worst_first(server: Served) -> None:
    html = await page(server)
    assert "1,000 findings of 20 causes" in html
    assert len(causes_in(html)) == 20
    assert causes_in(html)[0] == "net-0000"
    assert html.count('<li class="finding') == 0


async def test_a_cause_opens_to_its_findings_by_an_address(server: Served) -> None:
    html = await page(server, "?severity=critical")
    (opens,) = re.findall(r'<p class="open"><a href="/findings([^"]*)#c-', html)
    opened = await page(server, opens)
    assert opened.count('<li class="finding') == 20
    assert "Close" in opened
    (alone,) = re.findall(r'<a href="/findings(\?cause=[0-9a-f]+)">All 50 findings of this cause', opened)
    html = await page(server, alone)
    assert html.count('<li class="finding') == 50
    own = [each for each in server.engine.findings() if each.network == "net-0000"]
    assert facet(html, "node") == dict(Counter(each.node for each in own))  # of this cause alone


async def test_a_cause_with_many_findings_is_paged() -> None:
    async with served(0, checks=[causes_of_vms(1, 250)]) as server:
        cause = next(iter(server.engine.causes)).id
        names = []
        for number in (1, 2, 3):
            html = await page(server, f"?cause={cause}&page={number}")
            assert f"Page {number} of 3" in html
            names += re.findall(r"<code>ns-\d\d/(vm-\d+)</code>", html)
        assert sorted(names) == sorted(each.subject.name for each in server.engine.findings())


async def test_facets_count_what_fits_to_the_others_and_take_several_values(server: Served) -> None:
    findings = list(server.engine.findings())
    html = await page(server, "?namespace=ns-01&namespace=ns-02&severity=warning")
    wanted = {"ns-01", "ns-02"}
    fit = [each for each in findings if each.subject.namespace in wanted and each.severity == "warning"]
    assert f"{len(fit)} findings of" in html
    assert facet(html, "node") == dict(Counter(each.node for each in fit))
    # of the facet itself: those that could be chosen beside
    assert facet(html, "severity") == dict(
        Counter(each.severity.value for each in findings if each.subject.namespace in wanted)
    )
    shown = facet(html, "namespace")
    assert {"ns-01", "ns-02"} <= shown.keys()
    warnings = Counter(each.subject.namespace for each in findings if each.severity == "warning")
    assert all(warnings[name] == count for name, count in shown.items())


async def test_kept_counts_are_those_from_scratch(server: Served) -> None:
    findings = list(server.engine.findings())
    html = await page(server)
    assert facet(html, "severity") == dict(Counter(each.severity.value for each in findings))
    assert facet(html, "node") == dict(Counter(each.node for each in findings))
    assert facet(html, "area") == {}  # one value is no choice
    assert facet(html, "since") == {}
    namespaces = Counter(each.subject.namespace for each in findings)
    assert all(namespaces[name] == count for name, count in facet(html, "namespace").items())


async def test_findings_are_chosen_by_how_long_they_are_known(server: Served) -> None:
    for days in (0.5, 3.0, 30.0):
        server.evaluation.now = 1_789_990_000.0 + days * 86400
        name = {0.5: "day", 3.0: "week", 30.0: "older"}[days]
        assert "1,000 findings of 20 causes" in await page(server, f"?since={name}")
        assert "0 findings of 0 causes" in await page(server, "?since=hour")


async def test_everything_stays_in_the_address() -> None:
    async with served(0, checks=[causes_of_vms(200, 400)]) as server:
        html = await page(server, "?severity=warning,info&sort=reason&node=node-1&node=node-2&node=node-3")
        (later,) = re.findall(r'rel="next" href="/findings([^"]*)"', html)
        after = await page(server, later)
        assert set(causes_in(html)).isdisjoint(causes_in(after))
        for name, value in (("severity", "info"), ("severity", "warning"), ("node", "node-1"), ("node", "node-3")):
            assert f'name="{name}" value="{value}" checked' in after
        assert '<option value="reason" selected>' in after
        (less,) = re.findall(r'href="/findings([^"]*)">node: node-1 ', after)
        assert "node-1" not in less
        assert "node-2" in less
        for path in re.findall(r'href="/findings\.(?:csv|json)([^"]*)"', after):
            assert "node=node-1" in path
            assert "sort=reason" in path


async def test_the_order_is_chosen(server: Served) -> None:
    oldest = await page(server, "?sort=age")
    assert causes_in(oldest)[0] == "net-0019"
    assert causes_in(await page(server, "?sort=reason")) == causes_in(await page(server))


async def test_what_is_shown_is_a_csv_and_a_json(server: Served) -> None:
    _, headers, body = await server.get("/findings.csv?severity=critical&namespace=ns-00")
    rows = list(csv.DictReader(io.StringIO(body.decode())))
    _, _, listed = await server.get("/api/v1/findings?severity=critical&namespace=ns-00")
    wanted = json.loads(listed)["findings"]
    assert headers["Content-Type"] == "text/csv; charset=utf-8"
    assert [each["fingerprint"] for each in rows] == [each["fingerprint"] for each in wanted]
    assert {each["namespace"] for each in rows} == {"ns-00"}
    _, _, body = await server.get("/findings.json?severity=critical&namespace=ns-00")
    assert json.loads(body)["findings"] == wanted
    assert [each["reference"]["network"] for each in json.loads(body)["causes"]] == ["net-0000"]


async def test_no_name_is_a_formula_of_a_spreadsheet() -> None:
    async with served(0, checks=[causes_of_vms(1, 2, names=[FORMULA, "+1"])]) as server:
        _, _, body = await server.get("/findings.csv")
        rows = list(csv.DictReader(io.StringIO(body.decode())))
        assert {each["name"] for each in rows} == {f"'{FORMULA}", "'+1"}
        assert not any(cell.startswith(("=", "+")) for each in rows for cell in each.values())


async def test_a_mistake_is_said_on_the_page(server: Served) -> None:
    status, _, body = await server.get("/findings?since=daily")
    html = unescape(body.decode())
    assert (status, "did you mean day?" in html) == (400, True)
    assert '<a href="/findings">all findings</a>' in html


async def test_nothing_that_fits_is_said_and_leads_back(server: Served) -> None:
    html = await page(server, "?namespace=nowhere")
    assert "No finding matches the filter." in html
    assert 'href="/findings">Show all' in html


async def test_the_weight_of_many_findings_and_of_many_causes() -> None:
    async with served(0, checks=[causes_of_vms(20, 5000)]) as server:
        assert len((await server.get("/"))[2]) < 60_000
        assert len((await server.get("/findings"))[2]) < 60_000
    async with served(0, checks=[causes_of_vms(5000, 5000)]) as server:
        html = (await server.get("/findings"))[2]
        assert len(html) < 300_000
        assert b"Page 1 of 100" in html


async def test_hostile_names_are_text() -> None:
    hostile = ['"><script>alert(1)</script>', "x" * 253, "a\u202eb\x1b[31m"]
    async with served(0, checks=[causes_of_vms(1, 3, names=hostile)]) as server:
        cause = next(iter(server.engine.causes)).id
        for query in ("", f"?cause={cause}", f"?open={cause}"):
            html = (await server.get(f"/findings{query}"))[2].decode()
            assert scripts_in(html) == []
            assert not {"\u202e", "\x1b"} & set(html)


async def test_what_can_not_be_seen_is_not_said_to_be_nothing() -> None:
    async with served(0) as server:
        html = await page(server)
        assert "<h1>0 findings of 0 causes</h1>" in html
        assert "checks complete" not in html
        server.evaluation.sync_state("IPAMClaim", SyncState.FORBIDDEN)
        server.evaluation.evaluate()
        html = await page(server)
        assert "<h1>No findings in what could be evaluated</h1>" in html
        said = "Incomplete data: 0 of 1 checks complete, 1 without an answer"
        assert f'<p class="trust doubtful"><a href="/health">{said}</a></p>' in html


async def test_where_some_is_found_and_some_can_not_be_seen_both_are_said() -> None:
    async with served(1, checks=[causes_of_vms(2, 4)]) as server:
        server.evaluation.sync_state("IPAMClaim", SyncState.FORBIDDEN)
        server.evaluation.evaluate()
        html = await page(server)
        assert re.search(r"<h1>\d+ findings of \d+ causes</h1>", html)
        assert re.search(
            r'<p class="trust doubtful"><a href="/health">Incomplete data: \d of 2 checks complete, [^<]*</a></p>', html
        )


async def test_a_page_past_the_last_one_does_not_say_that_there_are_none(server: Served) -> None:
    html = await page(server, "?page=9")
    assert "<h1>1,000 findings of 20 causes</h1>" in html
    assert "No findings" not in html


async def test_before_the_first_evaluation_nothing_is_said_to_be_found_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(0) as server:
        monkeypatch.setattr(Engine, "ready", property(lambda _: False))
        html = await page(server)
        assert "<h1>No findings in what could be evaluated</h1>" in html
        assert "<p>No findings.</p>" not in html


async def test_of_the_namespaces_with_objects_that_can_not_be_read_a_few_are_named() -> None:
    async with served(0) as server:
        for number in range(7):
            claim = {"kind": "IPAMClaim", "name": "a", "namespace": f"ns-{number}", "undecodable": True}
            server.evaluation.seen(full(claim))
        server.evaluation.evaluate()
        html = await page(server)
        assert "1 unreadable object in namespace ns-4. 2 unreadable objects in 2 other namespaces</a>" in html
        assert "ns-5" not in html
