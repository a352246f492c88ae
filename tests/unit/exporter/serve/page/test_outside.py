"""Links to the pages of others: shown where they are known, and harmless whatever a name is."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from exporter.config.outside import Link
from exporter.facts.record import Ref
from exporter.findings.check import PER_CLUSTER, Check, Family, Reason
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.serve.page.frame import Outside
from exporter.store.kinds import ipam_claim

from .....rows import full
from .....served import Served, served

CONSOLE = Link(
    name="Console",
    url="https://console.example/k8s/ns/{namespace}/kubevirt.io~v1~VirtualMachine/{name}",
    kinds=("VirtualMachine",),
)
NODES = Link(name="Node in Headlamp", url="https://headlamp.example/c/{cluster}/nodes/{name}", kinds=("Node",))
BOARD = Link(name="Grafana", url="https://grafana.example/d/vm?var-namespace={namespace}&var-vm={vm}")
NETWORK = Link(name="Networks", url="https://grafana.example/d/net?var-network={network}", kinds=("Network",))
HOSTILE = "a/../b?x=1&y=<script>alert(1)</script>\"'#%2e{name}"


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
