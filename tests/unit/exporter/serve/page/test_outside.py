"""Links to the pages of others, and what was of a Prometheus: shown where they are known, and harmless whatever is."""

from __future__ import annotations

import re
import time
from html import unescape
from typing import Any

from aiohttp import web

from exporter.config.outside import Link
from exporter.facts.record import Ref
from exporter.findings.check import PER_CLUSTER, Check, Family, Reason
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.prometheus import Bounds
from exporter.serve.page.outside import Outside
from exporter.store.kinds import ipam_claim

from .....asking import by_header
from .....evaluation import NOW
from .....past_server import Stub, answer, asking
from .....rows import full
from .....served import Served, served

PATIENT = Bounds(patience=20.0, answer=20.0)
CONSOLE = Link(
    name="Console",
    url="https://console.example/k8s/ns/{namespace}/kubevirt.io~v1~VirtualMachine/{name}",
    kinds=("VirtualMachine",),
)
NODES = Link(name="Node in Headlamp", url="https://headlamp.example/c/{cluster}/nodes/{name}", kinds=("Node",))
BOARD = Link(name="Grafana", url="https://grafana.example/d/vm?var-namespace={namespace}&var-vm={vm}")
NETWORK = Link(name="Networks", url="https://grafana.example/d/net?var-network={network}", kinds=("Network",))
HOSTILE = "a/../b?x=1&y=<script>alert(1)</script>\"'#%2e{name}"


def clock() -> float:
    return NOW


def outside(*links: Link, cluster: str = "") -> Outside:
    return Outside(links=links, cluster=cluster)


async def page(server: Served, path: str, **headers: str) -> str:
    status, _, body = await server.get(path, **headers)
    assert status == 200, body
    return body.decode()


def links_in(html: str) -> dict[str, str]:
    """The address of each link to elsewhere, by its name."""
    found = re.search(r'<p class="links">(.*?)</p>', html)
    return {
        unescape(name): unescape(href)
        for href, name in re.findall(r'<a href="([^"]*)" rel="noreferrer">(.*?)</a>', found[1] if found else "")
    }


def of_a_vm(name: str) -> Check:
    """One finding about an IPAMClaim of the VM with this name, on a node."""

    def find(_: object) -> Any:
        subject = Ref("IPAMClaim", "shop", "db.blue", "u1")
        yield Finding(
            reason="One", severity=Severity.WARNING, subject=subject, message="It is so.", vm=name, node="node01"
        )

    family = Family("kubevirt_test_one", "One.")
    reasons = {"One": Reason((Severity.WARNING,), "There is one.", family)}
    return Check("one", "One", (ipam_claim.KIND,), PER_CLUSTER, reasons, find)


async def test_a_finding_links_to_its_board_its_vm_and_its_node() -> None:
    made = outside(CONSOLE, NODES, BOARD, NETWORK, cluster="east 1")
    async with served(0, checks=[of_a_vm("db")], outside=made) as server:
        (finding,) = server.engine.findings()
        assert links_in(await page(server, f"/findings/{finding.fingerprint}")) == {
            "Grafana": "https://grafana.example/d/vm?var-namespace=shop&var-vm=db",
            "Console of VirtualMachine db": "https://console.example/k8s/ns/shop/kubevirt.io~v1~VirtualMachine/db",
            "Node in Headlamp of Node node01": "https://headlamp.example/c/east%201/nodes/node01",
        }


async def test_pages_of_objects_link_to_those_of_others() -> None:
    async with served(outside=outside(CONSOLE, NODES, BOARD, NETWORK, cluster="east")) as server:
        server.evaluation.seen(full({"kind": "VirtualMachine", "name": "db", "namespace": "shop"}))
        server.evaluation.seen(full({"kind": "Node", "name": "node01"}))
        assert links_in(await page(server, "/vms/shop/db")).keys() == {"Console", "Grafana"}
        assert links_in(await page(server, "/nodes/node01")) == {
            "Node in Headlamp": "https://headlamp.example/c/east/nodes/node01"
        }
    async with served() as server:
        server.evaluation.seen(full({"kind": "Node", "name": "node01"}))
        assert "Elsewhere" not in await page(server, "/nodes/node01")


async def test_a_hostile_name_chooses_nothing_but_its_own_place_in_the_address() -> None:
    async with served(0, checks=[of_a_vm(HOSTILE)], outside=outside(CONSOLE, BOARD)) as server:
        (finding,) = server.engine.findings()
        html = await page(server, f"/findings/{finding.fingerprint}")
        assert "<script>alert" not in html
        board = links_in(html)["Grafana"]
        assert board.startswith("https://grafana.example/d/vm?var-namespace=shop&var-vm=a%2F..%2Fb%3Fx%3D1%26y%3D%3C")
        for address in links_in(html).values():
            assert re.fullmatch(r"https://[a-z.]+/[A-Za-z0-9~._/?=&%-]*", address), address
    for name in (".", ".."):
        async with served(0, checks=[of_a_vm(name)], outside=outside(CONSOLE)) as server:
            (finding,) = server.engine.findings()
            assert links_in(await page(server, f"/findings/{finding.fingerprint}")) == {}


async def test_the_page_of_a_finding_says_when_it_was_found() -> None:
    hour = 3600.0
    found = [(NOW - 5 * hour + at * hour, 1.0) for at in range(6)] + [(NOW - 20 * hour, 1.0)]
    seen = [(NOW - at * hour, 1.0) for at in range(100)]

    async def respond(_: web.Request) -> web.StreamResponse:
        return answer({"found": sorted(found), "seen": sorted(seen)})

    stub = Stub(respond)
    async with (
        asking(stub, PATIENT, clock) as past,
        served(0, checks=[of_a_vm("db")], outside=Outside(past), guard=by_header) as server,
    ):
        (finding,) = server.engine.findings()
        html = await page(server, f"/findings/{finding.fingerprint}")
        assert "Found in 7h of the last week, in 2 stretches. For 2d20h it is not known." in html
        assert '<rect class="found" x="162" width="6"' in html
        assert '<svg class="timeline warning" viewBox="0 0 168 10"' in html
        tenants = await page(server, f"/findings/{finding.fingerprint}", Tenant="shop")
        assert "<svg" not in tenants
    (asked,) = (each["query"] for each in stub.asked)
    matchers = 'check="one",reason="One",kind="IPAMClaim",namespace="shop",name="db.blue",group=""'
    assert f"kubevirt_test_one{{{matchers}}}" in asked


async def test_the_overview_draws_how_many_there_were() -> None:
    quarter = 900.0

    async def respond(_: web.Request) -> web.StreamResponse:
        values = [2.0] * 50 + [5.0] * 40
        points = [(NOW - at * quarter, value) for at, value in enumerate(reversed(values))]
        return answer({"critical": sorted(points), "warning": [(NOW, 1.0)]})

    async with asking(Stub(respond), PATIENT, clock) as past, served(outside=Outside(past)) as server:
        html = await page(server, "/")
        assert "5 critical, between 2 and 5 in the last day" in html
        assert html.count("<svg") == 1  # one point is no line


async def test_a_prometheus_that_fails_or_hangs_leaves_the_page_as_it_is() -> None:
    async def fail(_: web.Request) -> web.StreamResponse:
        return web.Response(status=500)

    async with served(0, checks=[of_a_vm("db")]) as plain:
        (finding,) = plain.engine.findings()
        path = f"/findings/{finding.fingerprint}"
        expected = await page(plain, path)
    stub = Stub(fail)
    async with (
        asking(stub, Bounds(patience=0.1, answer=60.0, rest=0.0), clock) as past,
        served(0, checks=[of_a_vm("db")], outside=Outside(past)) as server,
    ):
        assert await page(server, path) == expected
        stub.respond = stub.hang
        await page(server, "/")
        began = time.monotonic()
        for _ in range(10):
            assert await page(server, path) == expected
        assert time.monotonic() - began < 10.0
