"""What is acknowledged, on the page, in the API and in the metrics: shown as such, and never hidden."""

from __future__ import annotations

import json
import re
from typing import Any

from exporter.findings.causes import Acknowledgement, Acknowledgements
from exporter.findings.severity import Severity

from .....asking import by_header
from .....cause_counts import causes_of_vms
from .....served import Served, served

HOSTILE = '<script>alert(1)</script>"\u202e'


async def page(server: Served, path: str = "/") -> str:
    status, _, body = await server.get(path)
    assert status == 200, body
    return body.decode()


async def causes(server: Served) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(await page(server, "/api/v1/causes"))
    return report


def acknowledge(server: Served, cause: str, because: str = "the vendor knows", **more: Any) -> None:
    known = Acknowledgement(cause, server.engine.clock() + 3600, because, "alice", **more)
    server.engine.acknowledge(Acknowledgements([known]))


async def test_it_is_said_on_each_page_and_comes_last() -> None:
    async with served(0, checks=[causes_of_vms(3, 9)]) as server:
        first = (await causes(server))["causes"][0]
        before = await page(server)
        acknowledge(server, first["cause"], severity=Severity.CRITICAL)
        after = await page(server)
        said = "Acknowledged until "
        assert said not in before
        assert re.findall('id="c-([0-9a-f]+)"', after)[-1] == first["cause"]
        assert len(re.findall('id="c-([0-9a-f]+)"', after)) == len(re.findall('id="c-([0-9a-f]+)"', before))
        assert f"<b>{first['findings']}</b> acknowledged" in after
        for path in ("/", "/findings", f"/findings?cause={first['cause']}", "/health"):
            html = await page(server, path)
            assert said in html, path
            assert "by alice: the vendor knows" in html
        (finding,) = json.loads(await page(server, "/api/v1/findings"))["findings"][:1]
        assert (said in await page(server, f"/findings/{finding['fingerprint']}")) is (
            finding["cause"] == first["cause"]
        )


async def test_reasons_of_others_stay_text() -> None:
    async with served(0, checks=[causes_of_vms(3, 9)]) as server:
        first = (await causes(server))["causes"][0]
        acknowledge(server, first["cause"], HOSTILE, severity=Severity.CRITICAL)
        for path in ("/", "/findings", f"/findings?cause={first['cause']}", "/health"):
            html = await page(server, path)
            assert "<script>alert" not in html
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
            assert "\u202e" not in html


async def test_what_is_worse_comes_first_again() -> None:
    async with served(0, checks=[causes_of_vms(3, 9)]) as server:
        first = (await causes(server))["causes"][0]
        assert first["severity"] == "critical"
        acknowledge(server, first["cause"], severity=Severity.WARNING)
        report = await causes(server)
        assert report["causes"][0] == first
        assert [each["state"] for each in report["acknowledged"]] == ["worse"]
        assert "The cause is worse than warning now, and alerts." in await page(server, "/health")


async def test_an_entry_of_a_cause_that_is_not_open_is_said_and_harmless() -> None:
    async with served(0, checks=[causes_of_vms(3, 9)]) as server:
        before = (await causes(server))["causes"]
        acknowledge(server, "f" * 16)
        report = await causes(server)
        assert (report["causes"], [each["state"] for each in report["acknowledged"]]) == (before, ["closed"])
        assert "No open finding has this cause." in await page(server, "/health")


async def test_pages_that_wait_hear_of_it() -> None:
    async with served(0, checks=[causes_of_vms(3, 9)]) as server:
        before = json.loads(await page(server, "/api/v1/generation"))
        acknowledge(server, (await causes(server))["causes"][0]["cause"])
        assert json.loads(await page(server, "/api/v1/generation")) != before


async def test_a_tenant_reads_that_it_is_acknowledged_and_nothing_else_of_it() -> None:
    async with served(0, checks=[causes_of_vms(3, 9)], guard=by_header) as server:
        _, _, body = await server.get("/api/v1/causes", Tenant="ns-00")
        own = json.loads(body)["causes"][0]
        until = server.engine.clock() + 3600
        known = [Acknowledgement(own["cause"], until, "secret", "alice", Severity.CRITICAL)]
        server.engine.acknowledge(Acknowledgements(known))
        for path in ("/api/v1/causes", "/", "/findings", "/health", f"/findings?cause={own['cause']}"):
            status, _, body = await server.get(path, Tenant="ns-00")
            assert status == 200
            assert b"secret" not in body
            assert b"alice" not in body
        _, _, body = await server.get("/findings", Tenant="ns-00")
        assert b"Acknowledged until" in body


async def test_the_metric_says_until_when_for_each_severity_that_is_acknowledged() -> None:
    async with served(0, checks=[causes_of_vms(3, 9)]) as server:
        cause = (await causes(server))["causes"][0]["cause"]
        acknowledge(server, cause)
        name = "kubevirt_steward_acknowledged_until_timestamp_seconds"
        found = re.findall(
            f'^{name}{{cause="{cause}",severity="([a-z]+)"}} (.*)$', await page(server, "/metrics"), re.M
        )
        assert [each for each, _ in found] == ["info", "warning"]
        assert {float(value) for _, value in found} == {server.engine.clock() + 3600}
        server.engine.acknowledge(Acknowledgements([Acknowledgement(cause, server.engine.clock() - 1, "x")]))
        assert f"{name}{{" not in await page(server, "/metrics")
