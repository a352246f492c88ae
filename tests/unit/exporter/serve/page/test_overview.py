"""The first page: what there is to do, what can be relied on, and that it costs no more the more there is."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from html import unescape
from types import FrameType
from typing import Any

import aiohttp
import pytest

from exporter.engine.evaluate import at_once
from exporter.sidecar import Repairs, decoding
from exporter.store.source import SyncState

from .....asking import by_header, get
from .....cause_counts import causes_of_vms
from .....reported_repairs import plans, repair
from .....rows import full
from .....served import Served, served


async def page(server: Served, path: str = "/") -> str:
    status, _, body = await server.get(path)
    assert status == 200, body
    return body.decode()


async def test_three_lines_say_which_cluster_whether_to_trust_it_and_how_many(http: aiohttp.ClientSession) -> None:
    _, html, _ = await get(http, "/")
    report = json.loads((await get(http, "/api/v1/findings"))[1])
    counts = Counter(each["severity"] for each in report["findings"])
    assert f"KubeVirt v1.7.0 · {report['fleet']['virtualMachines']} VMs watched" in html
    trust = re.search('"trust[^"]*"><a href="/health">(.*?)</a>', html)
    assert trust
    said = (
        r"Incomplete data: \d+ of \d+ checks complete, \d incomplete in some namespaces\."
        " 1 unreadable object in namespace legacy"
    )
    assert re.fullmatch(said, unescape(trust[1]))
    causes = json.loads((await get(http, "/api/v1/causes"))[1])["causes"]
    assert f"{counts.total()} findings of {len(causes)} causes:" in html
    for severity in ("critical", "warning", "info"):
        of = sum(severity in each["severities"] for each in causes)
        said = f"<b>{counts[severity]}</b> {severity} in {of} cause{'s' if of > 1 else ''}</a>"
        assert f'href="/findings?severity={severity}">{said}' in html
        listed = (await get(http, f"/findings?severity={severity}"))[1]
        assert re.search(f"<h1>{counts[severity]} findings? of {of} causes?</h1>", listed)
    assert '<input id="q" name="q" type="search"' in html


async def test_the_ten_worst_causes_in_the_order_of_the_api(http: aiohttp.ClientSession) -> None:
    _, html, _ = await get(http, "/")
    causes = json.loads((await get(http, "/api/v1/causes"))[1])["causes"]
    assert re.findall('id="c-([0-9a-f]+)"', html) == [each["cause"] for each in causes[:10]]
    assert f"Fix first (10 of {len(causes)} causes)" in html
    assert html.index("Drains under way") < html.index("Fix first")


async def test_a_drain_under_way_stands_above_the_causes_as_its_own_page_has_it(http: aiohttp.ClientSession) -> None:
    """One of those that migrate does so for too long, which only the findings say."""
    _, html, _ = await get(http, "/")
    said = r'<a href="/drain\?node=node05"><code>node05</code></a>: (\d+) VMs still on it, <b class="blocked">(\d+)'
    ((there, stay),) = re.findall(f"<b>Drain</b> {said} blocked</b>", html)
    _, drain, _ = await get(http, "/drain?node=node05")
    assert f"{stay} of {there} VMs do not leave by themselves." in drain


async def test_addresses_of_before_lead_to_the_findings(http: aiohttp.ClientSession) -> None:
    async with http.get("/?reason=Duplicate&namespace=shop", allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (302, "/findings?reason=Duplicate&namespace=shop")
    _, html, _ = await get(http, "/?reason=Duplicate&namespace=shop")
    assert "1 finding of 1 cause" in html


async def test_what_changed_in_the_last_hour_is_counted() -> None:
    async with served(1) as server:
        server.evaluation.evaluate()
        assert server.engine.ready
        server.engine.causes.history.begin(server.evaluation.now)
        assert "No change since the steward began to count 0s ago" in await page(server)
        server.evaluation.now += 5400
        server.see("another")
        server.evaluation.gone("IPAMClaim", "ns", "claim")
        server.evaluation.evaluate()
        html = await page(server)
        assert "1 opened, 1 closed in the last hour" in html
        assert '<span class="more">1 opened, 1 closed in the last hour</span>' in html
        server.evaluation.now += 7200
        html = await page(server)
        assert "No change in the last hour" in html


async def test_a_cause_that_ended_is_named_with_what_closed_of_it() -> None:
    async with served(1) as server:
        server.evaluation.evaluate()
        server.engine.causes.history.begin(server.evaluation.now)
        (cause,) = server.engine.causes
        server.evaluation.now += 7200
        server.evaluation.gone("IPAMClaim", "ns", "claim")
        server.evaluation.evaluate()
        server.evaluation.now += 60
        html = await page(server, "/findings")
        ended = html[html.index('id="ended"') :]
        assert "1 cause resolved in the last hour" in ended
        assert "IPAMClaim ns-00/claim-000000: <b>There are many</b> <small>Many. " in ended
        assert "The last finding closed 1m ago; 1 closed in the last hour" in ended
        assert 'id="ended"' not in await page(server, "/findings?severity=warning")
        (told,) = json.loads((await server.get("/api/v1/causes"))[2])["ended"]
        assert (told["cause"], told["last"]["name"], told["closed"]) == (cause.id, "claim-000000", 1)
        server.see("claim")
        assert 'id="ended"' not in await page(server, "/findings")


async def test_repairs_that_wait_for_somebody_are_named() -> None:
    repairs = Repairs(1_790_000_000.0)
    async with served(2, repairs=repairs) as server:
        first, second = (each.fingerprint for each in server.engine.findings())
        answer = plans("1", repair(first, state="waiting"), repair(second, state="refused"))
        repairs.take(at_once(decoding(json.dumps(answer).encode())))
        html = await page(server)
        waiting = html[html.index('id="waiting"') :]
        assert f'<a href="/findings/{first}#repair">release_ipam_claim</a>' in waiting
        assert second not in waiting
        of_all = await page(server, "/repairs")
        assert "Waiting for an approval: 1" in of_all
        assert second in of_all[of_all.index('id="refused"') :]


async def test_none_is_said_to_be_seen_where_not_everything_is() -> None:
    async with served(0) as server:
        server.evaluation.evaluate()
        assert "<b>0</b> critical</a>" in await page(server)
        for name in server.evaluation.kinds:
            server.evaluation.sync_state(name, SyncState.FORBIDDEN)
        server.evaluation.evaluate()
        html = await page(server)
        assert "<b>0</b> critical seen</a>" in html
        assert "VMs can&#39;t be seen" in html or "VMs can't be seen" in html


async def test_a_next_step_that_is_long_says_where_the_rest_is() -> None:
    long = (
        "Enlarge the pool of the network, "
        + "or delete what holds addresses that nobody uses, " * 5
        + "and then look again."
    )
    async with served(0, checks=[causes_of_vms(2, 4, advice=long)]) as server:
        cause = next(iter(server.engine.causes)).id
        for path in ("/", "/findings"):
            html = await page(server, path)
            (cut, link) = re.findall(r'<b>Next:</b> (Enlarge .*?…) <a href="([^"]*)">Read on<', html)[0]
            assert long.startswith(cut.removesuffix("…"))
            assert "and then look again" not in html
            assert "and then look again" in await page(server, link)
        assert "Read on" not in await page(server, f"/findings?cause={cause}")
    async with served(0, checks=[causes_of_vms(2, 4)]) as server:
        html = await page(server)
        assert "or delete what holds addresses that nobody uses.</p>" in html
        assert "Read on" not in html


@pytest.mark.parametrize(
    ("leader", "said"), [("other-1", "<b>other-1</b> leads."), ("", "No replica leads at the moment.")]
)
async def test_a_sidecar_that_does_not_lead_says_who_does(leader: str, said: str) -> None:
    repairs = Repairs(1_790_000_000.0)
    async with served(1, repairs=repairs) as server:
        fingerprint = next(iter(server.engine.findings())).fingerprint
        answer = plans("1", repair(fingerprint), leading=False, leader=leader)
        repairs.take(at_once(decoding(json.dumps(answer).encode())))
        for path in ("/repairs", f"/findings/{fingerprint}"):
            html = await page(server, path)
            assert "does not lead, so it has no plans" in html, path
            assert said in html
        answer = plans("2", repair(fingerprint))
        repairs.take(at_once(decoding(json.dumps(answer).encode())))
        for path in ("/repairs", f"/findings/{fingerprint}"):
            assert "does not lead" not in await page(server, path)


async def calls(server: Served, path: str) -> int:
    """How many functions of the exporter are called to answer, once it was asked before a change."""
    await page(server, path)
    server.evaluation.seen(full({"kind": "Node", "name": "another"}))
    called = 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal called
        called += event == "call" and "/exporter/" in frame.f_code.co_filename

    sys.setprofile(count)
    try:
        await page(server, path)
    finally:
        sys.setprofile(None)
    return called


@pytest.mark.parametrize("path", ["/", "/findings", "/health"])
async def test_a_page_costs_what_it_shows_however_many_findings_there_are(path: str) -> None:
    counted = []
    for findings in (40, 4000):
        async with served(0, checks=[causes_of_vms(20, findings)]) as server:
            counted.append(await calls(server, path))
    few, many = counted
    assert many < few * 1.25, counted


async def test_a_tenant_has_the_counts_of_their_own() -> None:

    async with served(0, checks=[causes_of_vms(20, 100)], guard=by_header) as server:
        _, _, body = await server.get("/", Tenant="ns-01")
        html = unescape(body.decode())
        assert "Your namespaces" in html
        assert "VMs watched" not in html
        _, _, listed = await server.get("/findings", Tenant="ns-01")
        assert "2 findings of 1 cause" in listed.decode()
        assert "ns-02" not in listed.decode()
