"""Where failed migrations are shown: /api/v1/migrations, the page, the metrics; for tenants those of theirs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from html import unescape
from typing import Any

import pytest

from exporter.checks.drains import migrations
from exporter.store.source import SyncState

from ....asking import by_header, scripts_in
from ....failed_migrations import CPU, MIGRATION, STUCK, failed, minute, vmi
from ....served import Served, served

HOSTILE = "<script>alert('CPU mode')</script>\u202e{{ 7 * 7 }}\x00" + "x" * 600
PATH = "/api/v1/migrations"


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served(count=0, guard=by_header, checks=[migrations.CHECK]) as made:
        yield made


def see(server: Served, *objects: dict[str, Any]) -> None:
    for each in objects:
        server.evaluation.seen(each)
    server.evaluation.evaluate()


async def listed(server: Served, path: str = PATH, **headers: str) -> tuple[Any, str]:
    status, answered, body = await server.get(path, **headers)
    assert status == 200, body
    return json.loads(body), answered["ETag"]


async def page(server: Served, **headers: str) -> str:
    """Of the finding that migrations of a VMI fail."""
    _, _, listed = await server.get("/api/v1/findings?reason=MigrationFailing", **headers)
    (finding,) = json.loads(listed)["findings"]
    status, _, body = await server.get(f"/findings/{finding['fingerprint']}", **headers)
    assert status == 200
    return body.decode()


async def samples(server: Served) -> dict[str, float]:
    _, _, body = await server.get("/metrics")
    family = 'kubevirt_steward_migration_failures_total{failure="'
    lines = (line for line in body.decode().splitlines() if line.startswith(family))
    return {line.removeprefix(family).partition('"')[0]: float(line.rpartition(" ")[2]) for line in lines}


async def test_the_api_answers_with_what_was_deleted_long_ago(server: Served) -> None:
    assert (await listed(server))[0] == {"unseen": [], "dropped": 0, "vmis": []}
    see(server, vmi(), failed("m1", 1, CPU, evacuates="node07"), failed("m2", 2, "who knows"))
    for name in ("m1", "m2"):
        server.evaluation.gone(MIGRATION, "ns", name)
    other = {"at": minute(2), "uid": "m2", "migration": "m2", "failure": "Other", "meaning": "", "lasting": False}
    meaning = "the guest started with a CPU that the target node does not offer"
    cpu = {"at": minute(1), "uid": "m1", "migration": "m1", "failure": "CPU", "meaning": meaning, "lasting": True}
    made_for = "the evacuation of node node07"
    failures = [other | {"text": "who knows", "madeFor": ""}, cpu | {"text": CPU, "madeFor": made_for}]
    found = {"namespace": "ns", "name": "db", "uid": "u-db", "failures": failures}
    assert (await listed(server))[0] == {"unseen": [], "dropped": 0, "vmis": [found]}


async def test_a_vm_has_its_failures_that_were_deleted_too(server: Served) -> None:
    see(server, vmi(), failed("m1", 1, CPU), failed("m2", 2, STUCK))
    whole, tag = await listed(server, "/api/v1/vms/ns/db")
    server.evaluation.gone(MIGRATION, "ns", "m1")
    assert [each["migration"] for each in (await listed(server, "/api/v1/vms/ns/db"))[0]["failures"]] == ["m2", "m1"]
    assert [each["migration"] for each in whole["failures"]] == ["m2", "m1"]

    see(server, failed("m3", 3, CPU))
    whole, newer = await listed(server, "/api/v1/vms/ns/db", If_None_Match=tag)
    assert newer != tag
    assert [each["failure"] for each in whole["failures"]] == ["CPU", "Timeout", "CPU"]
    _, _, body = await server.get("/vms/ns/db")
    assert "Failed migrations" in body.decode()
    assert body.decode().count("<b>CPU</b>") == 2


async def test_an_etag_holds_until_something_fails(server: Served) -> None:
    _, before = await listed(server)
    see(server, vmi(), failed("m1", 1, CPU))
    _, tag = await listed(server)
    assert tag != before
    see(server, failed("m2", 2, phase="Running"))
    assert (await server.get(PATH, If_None_Match=tag))[0] == 304
    see(server, failed("m2", 2, CPU))
    assert (await listed(server, If_None_Match=tag))[1] != tag


async def test_filters(server: Served) -> None:
    for namespace, name in (("ns", "db"), ("ns", "web"), ("other", "db")):
        see(server, vmi(name, namespace=namespace, uid=f"{namespace}-{name}"))
        see(server, failed(f"m-{name}", 1, CPU, name, namespace=namespace, uid=f"m-{namespace}-{name}"))

    async def found(query: str) -> list[str]:
        return sorted(f"{each['namespace']}/{each['name']}" for each in (await listed(server, PATH + query))[0]["vmis"])

    assert await found("") == ["ns/db", "ns/web", "other/db"]
    assert await found("?namespace=ns") == ["ns/db", "ns/web"]
    assert await found("?name=db") == ["ns/db", "other/db"]
    assert await found("?namespace=ns,other&name=db&name=web") == ["ns/db", "ns/web", "other/db"]
    assert await found("?namespace=other&name=web") == []
    status, _, why = await server.get(PATH + "?vmi=db")
    assert (status, json.loads(why)["error"]) == (400, "'vmi' is not a filter. Filters are: namespace, name")


async def test_what_can_not_be_seen_is_said(server: Served) -> None:
    see(server, vmi(), failed("m1", 1, CPU))
    await listed(server)
    server.evaluation.sync_state(MIGRATION, SyncState.FORBIDDEN)
    report, _ = await listed(server)
    assert report["unseen"] == [MIGRATION]
    assert [each["name"] for each in report["vmis"]] == ["db"]


async def test_a_tenant_sees_those_of_their_namespaces(server: Served) -> None:
    for namespace in ("mine", "theirs"):
        see(server, vmi(namespace=namespace, uid=f"u-{namespace}"))
        made = {"namespace": namespace, "uid": f"m-{namespace}"}
        see(server, *(failed(f"m{at}", at, f"{CPU} in {namespace}", **made | {"uid": f"{at}"}) for at in (1, 2)))

    async def seen(path: str = PATH, **headers: str) -> list[str]:
        return [each["namespace"] for each in (await listed(server, path, **headers))[0]["vmis"]]

    for _ in range(2):  # whatever was asked before
        assert sorted(await seen()) == ["mine", "theirs"]
        assert await seen(Tenant="mine") == ["mine"]
        assert sorted(await seen(Tenant="all")) == ["mine", "theirs"]
        assert await seen(f"{PATH}?namespace=theirs", Tenant="mine") == []
        assert await seen(f"{PATH}?name=db&namespace=mine", Tenant="mine") == ["mine"]

    _, tag = await listed(server, Tenant="mine")
    see(server, failed("m3", 3, STUCK, namespace="theirs", uid="3"))
    server.failures.dropped["theirs"] += 1
    assert (await listed(server))[0]["dropped"] == 1
    assert (await server.get(PATH, Tenant="mine", If_None_Match=tag))[0] == 304

    text = unescape(await page(server, Tenant="mine"))
    assert f"{CPU} in mine" in text
    assert "theirs" not in text


async def test_the_page_has_them_beside_the_findings_of_the_vmi(server: Served) -> None:
    see(server, vmi(), vmi("web"), failed("m1", 1, CPU), failed("m-web", 1, CPU, "web"))
    assert b"MigrationFailing" not in (await server.get("/findings"))[2]
    see(server, *(failed(f"m{at}", at, STUCK, evacuates="node07") for at in range(2, 8)))
    for at in range(1, 5):
        server.evaluation.gone(MIGRATION, "ns", f"m{at}")
    server.evaluation.evaluate()
    text = unescape(await page(server))
    shown = text.partition("7 failed migrations of this VMI")[2].partition("</section>")[0]
    lines = [" ".join(line.split()) for line in shown.splitlines() if "<li>" in line]
    first = f"<li>{minute(7)} <code>m7</code> for the evacuation of node node07: <b>Timeout</b>,"
    assert lines[0] == f"{first} the guest writes to its memory faster than it is copied. {STUCK}</li>"
    assert len(lines) == 7
    assert "<code>m1</code>: <b>CPU</b>" in lines[-1]
    assert text.count("of this VMI") == 1  # nothing is said of the other one, of which there is no finding


async def test_what_guests_and_users_write_is_escaped_and_cut(server: Served) -> None:
    see(server, vmi(), *(failed(f"m{at}", at, HOSTILE) for at in (1, 2)))
    (found,) = (await listed(server))[0]["vmis"]
    assert [each["text"] for each in found["failures"]] == [HOSTILE[:512]] * 2
    assert {each["failure"] for each in found["failures"]} == {"CPU"}
    text = await page(server)
    part = text.partition("2 failed migrations of this VMI")[2].partition("</section>")[0]
    assert part.count("&lt;script&gt;") == 2
    assert scripts_in(text) == []
    assert "49" not in part
    assert not {"\u202e", "\x00"} & set(text)
    assert "x" * 200 in part
    assert "x" * 300 not in part
    assert set(await samples(server)) == set(server.failures.by_class())


async def test_the_counter_has_every_class_and_counts_each_failure_once(server: Served) -> None:
    empty = await samples(server)
    assert set(empty.values()) == {0.0}
    assert {"CPU", "Timeout", "Other"} < set(empty)
    see(server, vmi(), failed("m1", 1, CPU), failed("m2", 2, STUCK), failed("m2", 2, STUCK, phaseSince=minute(3)))
    assert await samples(server) == empty | {"CPU": 1.0, "Timeout": 1.0}
    server.evaluation.gone(MIGRATION, "ns", "m1")
    assert await samples(server) == empty | {"CPU": 1.0, "Timeout": 1.0}
