"""What tenants are answered: their page, list, filters, counts, tags and waits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from exporter.questions.vm.owner import HIDDEN
from exporter.serve.server import rooms

from .....asking import by_header, names
from .....rows import full
from .....served import Served, served


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    """One finding in each of ns-00, ns-01 and ns-02."""
    async with served(guard=by_header) as made:
        yield made


async def listed(server: Served, path: str = "/api/v1/findings", **headers: str) -> dict[str, Any]:
    status, _, body = await server.get(path, **headers)
    assert status == 200, body
    answer: dict[str, Any] = json.loads(body)
    return answer


async def test_each_tenant_gets_their_own_whatever_was_asked_before(server: Served) -> None:
    for _ in range(2):
        assert names(await listed(server)) == ["ns-00", "ns-01", "ns-02"]
        assert names(await listed(server, Tenant="ns-01")) == ["ns-01"]
        assert names(await listed(server, Tenant="ns-00 ns-02")) == ["ns-00", "ns-02"]
        assert names(await listed(server, Tenant="all")) == ["ns-00", "ns-01", "ns-02"]
        assert names(await listed(server, Tenant="elsewhere")) == []


async def test_filters_find_nothing_of_others(server: Served) -> None:
    for query in ("namespace=ns-00", "name=claim-000000", "namespace=ns-00&reason=Many"):
        assert names(await listed(server, f"/api/v1/findings?{query}", Tenant="ns-01")) == []
    assert names(await listed(server, "/api/v1/findings?namespace=ns-01", Tenant="ns-01")) == ["ns-01"]


async def test_a_field_that_is_withheld_finds_nothing_either(server: Served) -> None:
    """Who filters must not find out by what there is."""
    assert names(await listed(server, "/api/v1/findings?network=blue")) == ["ns-00", "ns-01", "ns-02"]
    assert names(await listed(server, "/api/v1/findings?network=blue", Tenant="ns-01")) == []


async def test_what_may_be_of_others_is_withheld_with_the_meaning_in_its_place(server: Served) -> None:
    (whole,) = (each for each in (await listed(server))["findings"] if each["subject"]["namespace"] == "ns-01")
    (shown,) = (await listed(server, Tenant="ns-01"))["findings"]
    assert shown["message"] == "There are many."
    assert shown["network"] == ""
    assert {key: shown[key] for key in ("fingerprint", "subject", "reason", "severity", "since")} == {
        key: whole[key] for key in ("fingerprint", "subject", "reason", "severity", "since")
    }
    assert (await listed(server, Tenant="all"))["findings"] == (await listed(server))["findings"]


async def test_the_page_of_a_tenant_has_findings_only(server: Served) -> None:
    _, _, body = await server.get("/", Tenant="ns-01")
    page = body.decode()
    assert "ns-01/claim-000001" in page
    assert "<b>1</b> warning" in page
    assert "ns-00" not in page
    assert "steward-viewer" in page
    assert "You see the findings of namespace ns-01, where" in page
    assert [each for each in ("Networks", "Drain", "Kinds", "Nodes", "Repairs") if f">{each}<" in page] == []
    _, _, body = await server.get("/", Tenant=" ".join(f"ns-{i:02}" for i in range(12)))
    assert "of namespaces ns-00, ns-01, ns-02, ns-03, ns-04, ns-05, ns-06, ns-07, ns-08, ns-09 and 2 more, where" in (
        body.decode()
    )
    _, _, body = await server.get("/", Tenant="all")
    assert "You see the findings of all namespaces, where" in body.decode()
    _, _, body = await server.get("/")
    assert "You see the findings" not in body.decode()
    assert "ns-00" in body.decode()
    assert ">Networks<" in body.decode()


async def test_a_tenant_is_led_to_nothing_that_is_of_others(server: Served) -> None:
    every = json.loads((await server.get("/api/v1/findings"))[2])["findings"]
    for finding in every:
        mine = finding["subject"]["namespace"] == "ns-01"
        status, _, body = await server.get(f"/findings/{finding['fingerprint']}", Tenant="ns-01")
        assert (status, finding["subject"]["name"] in body.decode()) == ((200, True) if mine else (404, False))
    _, _, listed = await server.get("/findings", Tenant="ns-01")
    assert "1 finding of 1 cause" in listed.decode()
    assert "ns-00" not in listed.decode()
    _, _, found = await server.get("/search?q=claim", Tenant="ns-01")
    assert "ns-01/claim-000001" in found.decode()
    assert "ns-00" not in found.decode()
    for path in ("/findings.csv", "/findings.json", "/health"):
        status, _, body = await server.get(path, Tenant="ns-01")
        assert (status, b"ns-00" in body) == (200, False), path


async def test_a_tenant_lists_the_vms_of_their_namespaces_and_no_others(server: Served) -> None:
    for namespace in ("ns-00", "ns-01"):
        for name in ("db", "web"):
            vm = {"kind": "VirtualMachine", "namespace": namespace, "name": name, "uid": f"{namespace}-{name}"}
            server.evaluation.seen(full(vm | {"runStrategy": "Halted", "networks": {}}))
    server.evaluation.evaluate()
    every = await listed(server, "/api/v1/vms")
    assert [(row["vm"]["namespace"], row["vm"]["name"]) for row in every["rows"]] == [
        *(("ns-00", "db"), ("ns-00", "web"), ("ns-01", "db"), ("ns-01", "web"))
    ]
    for query in ("", "?sort=findings", "?namespace=ns-00,ns-01", "?state=Stopped&limit=1"):
        mine = await listed(server, f"/api/v1/vms{query}", Tenant="ns-01")
        assert mine["inAll"] == 2, query
        assert {row["vm"]["namespace"] for row in mine["rows"]} == {"ns-01"}, query
    assert (await listed(server, "/api/v1/vms?namespace=ns-00", Tenant="ns-01"))["rows"] == []
    for path in ("/vms/", "/vms.csv"):
        status, _, body = await server.get(path, Tenant="ns-01")
        assert (status, b"ns-01" in body, b"ns-00" in body) == (200, True, False), path
    mine = await listed(server, "/api/v1/vms/ns-01/db", Tenant="ns-01")
    assert (mine["name"], mine["upgrade"]["unknown"], mine["generation"]) == ("db", HIDDEN, 0)
    assert {each["act"]: each["answer"] for each in mine["verdicts"]} == {
        "start": "unknown",
        "upgrade": "unknown",
        "delete": "yes",
    }
    for path in ("/vms/ns-00/db", "/api/v1/vms/ns-00/db", "/vms/ns-01/dbb", "/api/v1/vms/ns-01/dbb"):
        status, _, body = await server.get(path, Tenant="ns-01")
        assert (status, b"did you mean" in body, b"no vm is called" in body.lower()) == (404, False, True), path
    assert (await server.get("/api/v1/vms/ns-01/db?beside=ns-00/db", Tenant="ns-01"))[0] == 400
    status, _, body = await server.get("/vms/ns-01/db", Tenant="ns-01")
    assert (status, b"are not shown to you" in body, b'href="/nodes/' in body) == (200, True, False)
    before = (await server.get("/api/v1/vms", Tenant="ns-01"))[1]["ETag"]
    server.evaluation.seen(
        full({"kind": "VirtualMachine", "namespace": "ns-00", "name": "new", "runStrategy": "Halted"})
    )
    server.evaluation.evaluate()
    assert (await server.get("/api/v1/vms", Tenant="ns-01", If_None_Match=before))[0] == 304


async def test_a_change_elsewhere_alters_neither_generation_nor_tag(server: Served) -> None:
    before, tag, mine = await tagged(server)
    server.evaluation.seen(full({"kind": "IPAMClaim", "namespace": "other", "name": "more"}))
    server.evaluation.evaluate()
    assert server.engine.generation > 0
    assert len((await listed(server))["findings"]) == 6
    assert await tagged(server) == (before, tag, mine)
    assert (await server.get("/api/v1/findings", Tenant="ns-01", If_None_Match=tag))[0] == 304

    server.see("claim2")
    after, other, _ = await tagged(server)
    assert after != before
    assert other != tag


async def tagged(server: Served) -> tuple[int, str, bytes]:
    _, headers, body = await server.get("/api/v1/findings", Tenant="ns-01")
    return json.loads(body)["generation"], headers["ETag"], body


async def test_a_wait_ends_with_a_change_of_what_is_seen_and_no_other(server: Served) -> None:
    before, _, _ = await tagged(server)
    waiting = asyncio.create_task(listed(server, f"/api/v1/findings?wait=30&generation={before}", Tenant="ns-01"))
    server.evaluation.seen(full({"kind": "IPAMClaim", "namespace": "other", "name": "more"}))
    server.evaluation.evaluate()
    await server.notify()
    await asyncio.wait([waiting], timeout=1.2)  # longer than until it looks again
    assert not waiting.done()
    server.see("claim2")
    await server.notify()
    assert names(await waiting) == ["ns-01", "ns-01"]


async def test_an_undecodable_object_is_shown_to_who_sees_its_namespace(server: Served) -> None:
    for namespace in ("ns-01", "ns-02"):
        server.evaluation.seen(full({"kind": "IPAMClaim", "namespace": namespace, "name": "odd", "undecodable": True}))
    server.evaluation.evaluate()
    report = await listed(server, Tenant="ns-01")
    assert [each["namespace"] for each in report["undecodable"]] == ["ns-01"]
    assert "ns-02" not in json.dumps(report)
    assert [(each["check"], each["partition"]) for each in report["unknown"]] == [("many", "")]
    assert {each["unknown"] for each in report["findings"]} == {
        "the check has no answer now; an admin of the cluster can see why"
    }


async def test_tenants_that_wait_leave_room_for_those_who_see_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "_MOST", 8)
    async with served(guard=by_header) as server:
        before, _, _ = await tagged(server)
        wait = f"/api/v1/findings?wait=50&generation={before}"
        waiting = []
        for _ in range(2):
            reader, writer = await server.connect()
            writer.write(f"GET {wait} HTTP/1.1\r\nHost: 127.0.0.1\r\nTenant: ns-01\r\n\r\n".encode())
            waiting.append((reader, writer))
        status = 0
        async with asyncio.timeout(10):
            while status != 503:  # until both wait
                status, _, body = await server.get(wait.replace("wait=50", "wait=0.05"), Tenant="ns-01")
        assert b"2" not in body  # how many others wait is nothing for a tenant
        of_all = f"/api/v1/findings?wait=0.1&generation={server.engine.generation}"
        assert (await server.get(of_all))[0] == 200
        for _, writer in waiting:
            writer.close()
