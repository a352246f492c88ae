"""What the server answers to whom: methods, tags, hosts, parameters, compression."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator
from html import unescape

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from exporter.questions.findings import Filter, take
from exporter.store.source import SyncState

from ....all_of import each_of
from ....rows import full
from ....served import Served, served

VIEWS = ("/api/v1/networks", "/api/v1/instancetypes", "/api/v1/drain")
ROUTES = ("/", "/findings", "/drain", "/style.css", "/page.js", "/metrics", "/healthz", "/api/v1/findings", *VIEWS)
TAGGED = ("/api/v1/findings", "/api/v1/findings?severity=warning", *VIEWS)


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as made:
        yield made


@each_of("path", [*ROUTES, "/readyz", "/nothing", "/api/v1/findings?colour=red"])
async def test_head_has_the_headers_of_get_and_no_body(server: Served, path: str) -> None:
    status, headers, body = await server.get(path)
    without, same, nothing = await server.get(path, "HEAD")
    assert (without, nothing) == (status, b"")
    assert body

    def compared(headers: dict[str, str]) -> dict[str, str]:
        # Clock and telemetry differ from one to the next, and a length that is not known is not written for HEAD.
        return {name: value for name, value in headers.items() if name not in ("Date", "Transfer-Encoding")}

    assert compared(same) == compared(headers)


@each_of("path", ROUTES)
@each_of("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
async def test_other_methods_are_refused_in_a_sentence(server: Served, path: str, method: str) -> None:
    status, headers, body = await server.get(path, method)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")
    sentence = f"{method} is not allowed here. Allowed: GET, HEAD"
    assert body.decode() == (json.dumps({"error": sentence}) if path.startswith("/api/") else f"{sentence}\n")


@each_of("path", ["/nothing", "/style.css/..", "/..%2f..%2fetc/passwd", "//etc/passwd", "/%00"])
async def test_an_unknown_path_is_answered_with_those_there_are(server: Served, path: str) -> None:
    status, headers, body = await server.get(path)
    assert status == 404
    assert b"there is nothing at" in body
    assert b"/api/v1/findings, " in body
    assert headers["X-Content-Type-Options"] == "nosniff"


@each_of(
    ("path", "sentence"),
    [
        ("/api/v1/findings?colour=red", "'colour' is not a filter. Filters are: check, reason, severity"),
        ("/api/v1/findings?severity=bad", "severity='bad' can't be found here; there are critical, info, warning"),
        ("/api/v1/findings?check=nothing", "check='nothing' can't be found here; there are many"),
        ("/api/v1/findings?reason=Few,Many", "reason='Few' can't be found here; there are Many"),
        ("/api/v1/findings?wait=-1", "wait='-1' is not a number of seconds"),
        ("/api/v1/findings?wait=nan", "wait='nan' is not a number of seconds"),
        ("/api/v1/findings?wait=inf", "wait='inf' is not a number of seconds"),
        ("/api/v1/findings?wait=1e1", "wait='1e1' is not a number of seconds"),
        ("/api/v1/findings?wait=99999999", "wait='99999999' is not between 0 and 60 seconds"),
        ("/api/v1/findings?wait=1&wait=60", "wait is given 2 times; give it once"),
        ("/api/v1/findings?generation=x", "generation='x' is not a whole number"),
        ("/api/v1/findings?generation=" + "9" * 5000, "is not a whole number"),
        ("/api/v1/findings?generation=%D9%A3", "is not a whole number"),
        ("/api/v1/networks?colour=red", "'colour' is not a filter. The filter is: network"),
        ("/api/v1/networks?network=a&network=b", "network is given 2 times"),
        ("/api/v1/instancetypes?colour=red", "'colour' is not a filter. The filter is: name"),
        ("/api/v1/instancetypes?name=a,b", "name is given 2 times"),
        ("/api/v1/drain?colour=red", "'colour' is not a filter. Filters are: node, all-cordoned, selector"),
        ("/drain?colour=red", "'colour' is not a filter. Filters are: node, all-cordoned, selector"),
        ("/findings?colour=red", "'colour' is not a filter. Filters are: "),
        ("/findings?page=x", "page='x' is not a whole number"),
        ("/findings?severity=bad", "there are critical, info, warning"),
        ("/findings?area=network", "There is no area 'network'; there are: other."),
        ("/findings?since=year", "There is no since 'year'; there are: hour, day, week, older."),
        ("/findings?sort=colour", "Findings can't be sorted by 'colour'; there are: severity, age"),
        ("/findings?name%0d%0aX-Evil:1=x", "is not a filter"),
        ("/findings.csv?colour=red", "'colour' is not a filter"),
        ("/findings.json?colour=red", "'colour' is not a filter"),
        ("/search?p=x", "'p' is not a filter. The filter is: q"),
        ("/api/v1/generation?colour=red", "'colour' is not a filter. Filters are: wait, generation"),
    ],
)
async def test_a_wrong_parameter_is_refused_in_a_sentence(server: Served, path: str, sentence: str) -> None:
    status, headers, body = await server.get(path)
    assert status == 400
    json_body = headers["Content-Type"].startswith("application/json")
    assert sentence in (json.loads(body)["error"] if json_body else unescape(body.decode()))
    if not headers["Content-Type"].startswith("text/html"):
        assert body.decode().rstrip("\n").count("\n") == 0
        assert len(body) < 500
    assert "X-Evil" not in headers


# -- tags


@each_of("path", TAGGED)
async def test_a_tag_is_known_alone_in_a_list_weak_and_as_any(server: Served, path: str) -> None:
    _, headers, _ = await server.get(path)
    tag = headers["ETag"]
    for known in (tag, f"W/{tag}", f'"a", {tag}', f'W/"b,c" , W/{tag},"d"', "*"):
        status, answered, body = await server.get(path, If_None_Match=known)
        assert (status, answered["ETag"], body) == (304, tag, b""), known
    for other in ('"a"', tag.strip('"'), f'"{tag}"', ""):
        assert (await server.get(path, If_None_Match=other))[0] == 200, other


async def test_what_is_changed_in_the_answer_changes_its_tag(server: Served) -> None:
    async def tag() -> str:
        status, headers, body = await server.get("/api/v1/findings?reason=Many")
        assert (seen.setdefault(headers["ETag"], body), status) == (body, 200)
        return headers["ETag"]

    seen: dict[str, bytes] = {}
    tags = [await tag()]
    server.evaluation.seen(full({"kind": "VirtualMachine", "name": "db"}))  # a count of objects, and no finding
    tags.append(await tag())
    server.evaluation.sync_state("VirtualMachine", SyncState.BEHIND)
    tags.append(await tag())
    server.see("another")
    tags.append(await tag())
    server.evaluation.sync_state("IPAMClaim", SyncState.STALE)
    tags.append(await tag())
    assert len(set(tags)) == 5
    assert b'"unknown":"IPAMClaim' in seen[tags[-1]]
    assert b'"unknown":"IPAMClaim' not in seen[tags[-2]]
    for known in tags[:-1]:
        assert (await server.get("/api/v1/findings?reason=Many", If_None_Match=known))[0] == 200


async def test_tags_of_filters_and_of_compressed_answers_are_their_own(server: Served) -> None:
    tags = set()
    for path in ("/api/v1/findings", "/api/v1/findings?namespace=ns-01", *VIEWS):
        for coding in ("identity", "gzip"):
            _, headers, _ = await server.get(path, Accept_Encoding=coding)
            assert headers["Vary"] == "Accept-Encoding"
            tags.add(headers["ETag"])
    assert len(tags) == 10


async def test_a_count_of_objects_does_not_end_a_long_poll_and_is_not_kept_back_after_it(server: Served) -> None:
    _, headers, _ = await server.get("/api/v1/findings")
    server.evaluation.seen(full({"kind": "VirtualMachine", "name": "db"}))
    status, answered, body = await server.get("/api/v1/findings?wait=0.1", If_None_Match=headers["ETag"])
    counts = {source["kind"]: source["objects"] for source in json.loads(body)["sources"]}
    assert (status, counts["VirtualMachine"]) == (200, 1)
    assert answered["ETag"] != headers["ETag"]
    again, _, nothing = await server.get("/api/v1/findings?wait=0.1", If_None_Match=answered["ETag"])
    assert (again, nothing) == (304, b"")


# -- compression


@each_of("path", ["/", "/drain", "/metrics", "/api/v1/findings", *VIEWS])
@each_of(
    ("accepted", "zipped"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip;q=0.2, identity", False),
        ("br", False),
    ],
)
async def test_answers_are_compressed_for_those_who_accept_it(
    server: Served, path: str, accepted: str, zipped: bool
) -> None:
    _, _, plain = await server.raw(f"GET {path} HTTP/1.0\r\n\r\n")
    status, headers, body = await server.raw(f"GET {path} HTTP/1.0\r\nAccept-Encoding: {accepted}\r\n\r\n")
    assert (status, headers.get("Content-Encoding")) == (200, "gzip" if zipped else None)
    text = gzip.decompress(body) if zipped else body
    assert abs(len(text) - len(plain)) < 200  # clock and telemetry
    assert text[:15] == plain[:15]


@pytest.mark.parametrize("wanted", [Filter(), Filter(namespace=frozenset(("ns-01", "ns-07")))])
async def test_a_large_report_is_whole_and_in_order(wanted: Filter) -> None:
    query = "&".join(f"namespace={each}" for each in sorted(wanted.namespace))
    async with served(4321) as server:
        server.see("another")
        _, headers, plain = await server.get(f"/api/v1/findings?{query}")
        _, _, zipped = await server.get(f"/api/v1/findings?{query}", Accept_Encoding="gzip")
        expected = msgspec.json.encode(take(server.engine, wanted))
    assert plain == expected
    assert int(headers["Content-Length"]) == len(expected) > 100_000
    unpacked = zlib.decompress(zipped, wbits=31)
    assert unpacked == expected


# -- who asks


@each_of("host", ["localhost", "LOCALHOST.:9877", "127.0.0.1:9877", "127.0.0.2", "[::1]:9877", "10.1.2.3:8443"])
@each_of("path", ["/metrics", "/api/v1/findings", "/"])
async def test_its_names_and_every_address_are_answered(server: Served, host: str, path: str) -> None:
    assert (await server.get(path, Host=host))[0] == 200


@each_of(
    "host", ["evil.example", "localhost.evil.example:80", "evil@localhost", "127.0.0.1.nip.io", "[::1", "", "a b", "1"]
)
@each_of("path", [*ROUTES, "/nothing"])
async def test_no_other_name_is_answered(server: Served, host: str, path: str) -> None:
    status, headers, body = await server.get(path, Host=host)
    assert status == 421
    assert b"is not served here; ask for 127.0.0.1 or localhost" in body
    assert "ETag" not in headers


async def test_a_request_has_one_host(server: Served) -> None:
    assert (await server.raw("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"))[0] == 400
    two = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert (await server.raw(two))[0] == 400
    assert (await server.raw("GET /healthz HTTP/1.0\r\n\r\n"))[0] == 200


async def test_on_every_address_only_its_hosts_are_answered() -> None:
    async with served(host="0.0.0.0", hosts=["Steward.monitoring.svc"]) as server:
        for host in ("steward.monitoring.svc:9877", "STEWARD.monitoring.svc.", "10.1.2.3:9877", "localhost"):
            assert (await server.get("/metrics", Host=host))[0] == 200
        for host in ("evil.example", "monitoring.svc", "a.steward.monitoring.svc"):
            status, _, body = await server.get("/metrics", Host=host)
            assert status == 421
            assert b"or add it to hosts" in body


async def test_a_page_of_another_site_is_refused(server: Served) -> None:
    for foreign in (
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ):
        status, _, body = await server.get("/api/v1/findings", **foreign)
        assert (status, b"sent this request. Open it in a new tab" in body) == (403, True), foreign
    for own in (
        {"Sec_Fetch_Site": "none", "Sec_Fetch_Mode": "navigate"},
        {"Sec_Fetch_Site": "same-origin"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"},
        {"Origin": "http://127.0.0.1"},
    ):
        assert (await server.get("/api/v1/findings", **own))[0] == 200, own


async def test_a_long_name_of_a_node_is_answered_shortly(server: Served) -> None:
    server.evaluation.seen(full({"kind": "Node", "name": "node01"}))
    status, _, body = await server.get("/api/v1/drain?node=" + "x" * 8000)
    assert status == 404
    assert "there are node01" in json.loads(body)["error"]
    assert len(body) < 500


async def requests(server: Served) -> dict[tuple[str, str], float]:
    _, _, body = await server.raw("GET /metrics HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")  # not chunked
    families = {each.name: each for each in text_string_to_metric_families(body.decode())}
    samples = families["kubevirt_steward_http_requests"].samples
    return {(each.labels["path"], each.labels["code"]): each.value for each in samples if each.name.endswith("_total")}


async def test_requests_are_counted_by_route_and_status_and_paths_that_are_not_served_as_one(server: Served) -> None:
    for path in ("/healthz", "/healthz", "/nothing", "/metrics/x?y", "/%00", "/api/v1/findings?colour=red"):
        await server.get(path)
    await server.get("/", "POST")
    await server.get("/style.css", Host="elsewhere.example")
    _, headers, _ = await server.get("/api/v1/networks")
    await server.get("/api/v1/networks", If_None_Match=headers["ETag"])
    assert await requests(server) == {
        ("/healthz", "200"): 2,
        ("other", "404"): 3,
        ("/api/v1/findings", "400"): 1,
        ("other", "405"): 1,
        ("/style.css", "421"): 1,
        ("/api/v1/networks", "200"): 1,
        ("/api/v1/networks", "304"): 1,
    }
    assert (await requests(server))["/metrics", "200"] == 1


async def test_a_client_that_leaves_before_its_answer_is_counted_as_an_error(server: Served) -> None:
    _, writer = await server.connect()
    generation = json.loads((await server.get("/api/v1/findings"))[2])["generation"]
    path = f"/api/v1/findings?wait=60&generation={generation}"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    await writer.drain()
    writer.close()
    async with asyncio.timeout(10):
        while ("/api/v1/findings", "error") not in (counted := await requests(server)):
            pass
    assert counted["/api/v1/findings", "error"] == 1
