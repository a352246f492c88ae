"""The runbooks that the exporter serves itself, and the links to them."""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import AsyncIterator

import pytest

from exporter.__main__ import main
from exporter.checks import all_checks
from exporter.runbook import headed, link, texts, tree

from ....all_of import each_of
from ....rules import RULES
from ....served import Served, served
from ....shared import REPO

NAMES = sorted(path.stem for path in (RULES / "runbooks").glob("*.md"))


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as made:
        yield made


def commands_of(text: str) -> list[str]:
    """The code blocks of a runbook."""
    return [each.strip("\n") for each in re.findall(r"^```\w+[^\n]*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)]


async def test_each_runbook_is_listed_by_area_and_shown_rendered(server: Served) -> None:
    status, headers, body = await server.get("/runbooks/")
    listed = re.findall(r'href="(/runbooks/[^"]+\.md)"', body.decode())

    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert sorted(listed) == [f"/runbooks/{name}.md" for name in NAMES]
    assert body.decode().count("<h2 id=") > 3
    for path in listed:
        status, headers, body = await server.get(path)
        page, name = body.decode(), path.removeprefix("/runbooks/").removesuffix(".md")
        text = (RULES / f"runbooks/{name}.md").read_text(encoding="utf-8")
        assert status == 200
        assert headers["Content-Type"] == "text/html; charset=utf-8"
        shown = [html.unescape(each) for each in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.DOTALL)]
        assert shown == commands_of(text), name
        assert "not-in-tests" not in page
        assert "```" not in page
        lead = re.search('<p class="lead">(.*?)</p>', page)
        assert lead, name
        assert re.search("urgent|Urgent", lead[1])
        assert "For " in lead[1]
        assert re.search("next working day|Act at once", lead[1])


async def test_each_reason_has_a_place_of_its_own_to_which_findings_link(server: Served) -> None:
    alerts = {(reason.alert, name) for check in all_checks() for name, reason in check.reasons.items() if reason.alert}
    for alert in sorted({alert for alert, _ in alerts}):
        page = (await server.get(f"/runbooks/{alert}.md"))[2].decode()
        ids = re.findall(r' id="([^"]+)"', page)
        assert len(ids) == len(set(ids)), alert
        for reason in sorted(name for of, name in alerts if of == alert):
            place = link(alert, reason).rpartition("#")[2]
            assert f"### `{reason}`\n" in texts()[alert], f"the runbook {alert} has a heading for each of its reasons"
            assert place in ids
            assert (f'href="#{place}"' in page) is (len(headed(alert)) > 1)


@each_of("name", NAMES)
def test_each_runbook_begins_with_how_urgent_it_is_for_whom_and_until_when(name: str) -> None:
    lead = texts()[name].partition("\n## Meaning\n")[0]
    assert re.search(
        r"^\*\*(Not urgent|Urgent[^*]*):\*\* .* For .* (It can wait until the next working day|Act at once)", lead, re.M
    )


async def test_the_name_of_the_alert_is_enough(server: Served) -> None:
    assert (await server.get("/runbooks/StewardDown"))[2] == (await server.get("/runbooks/StewardDown.md"))[2]


@each_of("name", ["Nothing.md", "..%2f..%2fpyproject.toml", "..%2frunbooks%2fStewardDown.md", "%00", ".md"])
async def test_what_is_no_runbook_is_not_there(server: Served, name: str) -> None:
    status, _, body = await server.get(f"/runbooks/{name}")
    assert status == 404
    assert b"There is no runbook " in body


@each_of("path", ["/runbooks/../pyproject.toml", "/runbooks/a/b"])
async def test_nothing_is_beside_or_below_them(server: Served, path: str) -> None:
    assert (await server.get(path))[0] == 404


def test_rules_can_link_to_the_pages_that_are_served(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "render", "--set", "runbookUrl=https://steward.example/runbooks"]) == 0
    printed = capsys.readouterr().out
    linked = re.findall(r"runbook_url: https://steward.example/runbooks/(\w+)\.md(?:#.*)?$", printed, re.M)

    assert {"StewardDown", "StewardRepairStorm"} <= set(linked) & set(texts())


@pytest.mark.parametrize(
    ("installed", "packaged", "wanted"),
    [("0.1.0", True, "v0.1.0"), ("1.12", True, "v1.12"), ("0.2.0.dev3", True, "main"), ("0.1.0", False, "main")],
)
def test_a_release_links_to_its_own_runbooks(installed: str, packaged: bool, wanted: str) -> None:
    assert tree(installed, packaged=packaged) == wanted


def test_a_checkout_links_to_the_newest() -> None:
    assert link("StewardDown").endswith("/blob/main/rules/runbooks/StewardDown.md")
    assert link("VMPersistentIPBroken", "MissingClaim").endswith("/VMPersistentIPBroken.md#missingclaim")
    assert link("", "MissingClaim") == link("") == ""


def test_a_wheel_gets_the_runbooks() -> None:
    built = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert built["wheel"]["force-include"]["rules/runbooks"] == "exporter/runbooks"
