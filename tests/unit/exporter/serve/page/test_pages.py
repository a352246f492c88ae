"""All pages: each is complete without a script, and none runs or hides what objects are called."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser

import aiohttp

from .....all_of import each_of
from .....asking import get, scripts_in
from .....fakeapi.apiserver import FakeApiServer
from .....served import served

PAGES = (
    *(
        "/",
        "/findings",
        "/drain",
        "/drain?node=node05",
        "/impact",
        "/impact?upgrade-to=1.9",
        "/nodes/",
        "/nodes/node05",
    ),
    *(
        "/vms/",
        "/vms/?cannot=migrate&sort=findings",
        "/vms/?limit=20&page=2",
        "/maintenance",
        "/upgrade",
        "/upgrade?to=1.9",
    ),
    *("/networks/", "/networks/telecom-signalling", "/instancetypes/", "/instancetypes/u1.medium"),
    *("/instancetypes/telecom%2Fsignalling", "/features/", "/features/vsock", "/repairs", "/runbooks/"),
    *("/runbooks/StewardDown.md", "/health", "/search?q=lab", "/search", "/vms/billing/oracle-1", "/vms/lab/typo"),
)


class Outline(HTMLParser):
    """The headings of a page, what is named twice, and what it asks for elsewhere."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.levels: list[int] = []
        self.ids: list[str] = []
        self.foreign: list[str] = []
        self.unnamed: list[str] = []
        self.inputs = 0
        self._labels = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if "id" in given:
            self.ids.append(given["id"])
        if tag in ("script", "link", "img", "iframe", "form"):
            self.foreign += [v for n, v in given.items() if n in ("src", "href", "action") and not v.startswith("/")]
        if any(name.startswith("on") or name == "style" for name in given):
            self.foreign.append(tag)
        self._labels += tag == "label"
        if tag in ("input", "select") and given.get("type") != "hidden" and not self._labels and "id" not in given:
            self.unnamed.append(str(given))

    def handle_endtag(self, tag: str) -> None:
        self._labels -= tag == "label"


def whole(html: str) -> None:
    """What is to hold of each page."""
    outline = Outline(html)
    assert html.endswith("</html>")
    assert scripts_in(html) == []
    assert outline.foreign == []
    assert outline.unnamed == []
    assert len(outline.ids) == len(set(outline.ids))
    assert outline.levels.count(1) == 1
    assert outline.levels[0] == 1
    assert all(after - before <= 1 for before, after in zip(outline.levels, outline.levels[1:], strict=False))
    assert '<a class="skip" href="#main">' in html
    assert '<html lang="en">' in html


@each_of("path", PAGES)
async def test_each_page_is_whole(http: aiohttp.ClientSession, path: str) -> None:
    status, html, headers = await get(http, path)
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    whole(html)


@each_of(
    ("path", "status", "sentence"),
    [
        ("/vms/billing/oracle", 404, "did you mean billing/oracle-1?"),
        ("/nodes/node5", 404, "did you mean node05?"),
        ("/networks/telecom", 404, "did you mean telecom-signalling?"),
        ("/instancetypes/u1.mediun", 404, "did you mean u1.medium?"),
        ("/features/vsok", 404, "did you mean vsock?"),
        ("/runbooks/StewardDwn", 404, "did you mean StewardDown?"),
        ("/drain?node=node5", 400, "did you mean node05?"),
        ("/impact?disable=HostDsk", 400, "did you mean HostDisk?"),
        ("/vms/?state=runing", 400, "did you mean Running?"),
        ("/maintenance?node=node5", 400, "did you mean node05?"),
        ("/upgrade?to=1.2", 400, "KubeVirt can't be downgraded"),
    ],
)
async def test_a_mistake_is_a_page_with_the_nearest_name(
    http: aiohttp.ClientSession, path: str, status: int, sentence: str
) -> None:
    got, html, _ = await get(http, path)
    assert (got, sentence in unescape(html)) == (status, True)
    whole(html)


@each_of("path", ["/vms", "/nodes", "/networks", "/instancetypes", "/features", "/runbooks"])
async def test_a_list_without_its_slash_leads_to_it(own_http: aiohttp.ClientSession, path: str) -> None:
    async with own_http.get(f"{path}?sort=node", allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (308, f"{path}/?sort=node")
    assert (await get(own_http, path))[0] == 200


async def test_every_link_of_the_demo_leads_to_a_page(http: aiohttp.ClientSession) -> None:
    links: set[str] = set()
    for path in PAGES:
        _, html, _ = await get(http, path)
        links |= {unescape(each).partition("#")[0] for each in re.findall(r'href="(/[^"]*)"', html)}
    wrong = [(path, status) for path in sorted(links) if (status := (await get(http, path))[0]) != 200]
    assert len(links) > 100
    assert wrong == []


async def test_a_search_leads_to_the_one_thing_or_lists_what_is_like_it(
    own_http: aiohttp.ClientSession, cluster: FakeApiServer
) -> None:
    finding = json.loads((await get(own_http, "/api/v1/findings?reason=NotMigratable"))[1])["findings"][0]
    vm = json.loads((await get(own_http, "/api/v1/vms/billing/oracle-1"))[1])
    for wanted, there in (
        (finding["fingerprint"], f"/findings/{finding['fingerprint']}"),
        (finding["cause"], f"/findings?cause={finding['cause']}"),
        ("oracle-1", "/vms/billing/oracle-1"),
        ("billing/oracle-1", "/vms/billing/oracle-1"),
        (vm["identity"]["uuid"].upper(), "/vms/billing/oracle-1"),
        ("node05", "/nodes/node05"),
        ("10.40.0.110", "/vms/telecom/sip-proxy-old"),
        ("telecom-signalling", "/networks/telecom-signalling"),
        ("u1.medium", "/instancetypes/u1.medium"),
        ("VSOCK", "/features/vsock"),
        ("HostDisk", "/features/HostDisk"),
        ("notmigratable", "/findings?reason=NotMigratable"),
        ("StewardDown", "/runbooks/StewardDown.md"),
    ):
        async with own_http.get("/search", params={"q": wanted}, allow_redirects=False) as answer:
            assert (answer.status, answer.headers.get("Location")) == (302, there), wanted
    _, several, _ = await get(own_http, "/search?q=print-server")
    assert {"/vms/billing/print-server", "/vms/shop/print-server"} <= set(re.findall('href="(/vms[^"]*)"', several))
    _, none, _ = await get(own_http, "/search?q=nothing-like-it")
    assert "Nothing has that in its name" in none
    _, address, _ = await get(own_http, "/search?q=203.0.113.9")
    assert "An address on the pod network is only known where the guest agent reports it." in address


async def test_the_vm_page_answers_what_is_asked_of_a_vm(http: aiohttp.ClientSession) -> None:
    _, html, _ = await get(http, "/vms/billing/oracle-1")
    shown = unescape(html)
    for text in (
        '<a href="/nodes/node05">',
        "If its node is drained",
        "<b>Blocked</b> (NotMigratable)",
        "4 of 4 nodes could take it",
        "If KubeVirt is upgraded to v1.8.0",
        "0ca10bcf-d615-5ee3-b809-a92e1e28f77d",
        "interrupts a guest",
    ):
        assert text in shown, text


async def test_the_vm_page_says_each_finding_that_forbids_an_act(http: aiohttp.ClientSession) -> None:
    findings = json.loads((await get(http, "/api/v1/findings"))[1])["findings"]
    one_of_each = {each["reason"]: each["subject"] for each in findings if each["subject"]["kind"] == "VirtualMachine"}
    forbidden = set()
    for subject in one_of_each.values():
        path = f"/vms/{subject['namespace']}/{subject['name']}"
        found = json.loads((await get(http, f"/api/v1{path}"))[1])
        html = unescape((await get(http, path))[1])
        said = html[html.index('id="verdicts"') :].partition("</section>")[0]
        for each in found["verdicts"]:
            for reason in each["reasons"]:
                assert reason["why"] in said
                forbidden.add(reason["reason"])
        assert ('class="blocked"' in said) is any(each["answer"] == "no" for each in found["verdicts"]), path
    assert len(forbidden) > 5, "a fleet in which nothing is forbidden proves nothing"


async def test_health_says_what_has_no_answer_once_for_each_reason(http: aiohttp.ClientSession) -> None:
    _, html, _ = await get(http, "/health")
    shown = unescape(html)
    unknown = shown[shown.index('id="unknown"') :].partition("</section>")[0]
    assert unknown.count("IPAMClaim legacy/old-import.net1 could not be read") == 1
    assert "<b>ipam_claims</b> in legacy" in unknown
    assert "IPAMClaim <code>legacy/old-import.net1</code>" in shown[shown.index('id="undecodable"') :]


async def test_a_page_follows_by_its_generation() -> None:
    async with served(1) as server:
        _, _, body = await server.get("/api/v1/generation")
        generation = json.loads(body)["generation"]
        assert f'data-generation="{generation}"' in (await server.get("/findings"))[2].decode()
        _, _, same = await server.get(f"/api/v1/generation?wait=0.1&generation={generation}")
        assert json.loads(same)["generation"] == generation
        server.see("another")
        _, _, after = await server.get(f"/api/v1/generation?wait=30&generation={generation}")
        assert json.loads(after)["generation"] > generation
        _, headers, script = await server.get("/page.js")
        assert headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert b"/api/v1/generation?wait=" in script
