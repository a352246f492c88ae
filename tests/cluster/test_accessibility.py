"""Whether the pages shut nobody out: axe-core, the keyboard alone, no script, a narrow screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.browser import CHROMIUM, Tab, browser
from tests.cluster.demo_process import Demo, running_demo
from tests.cluster.page_fleets import demo_paths

from .browser import AxeMissing, axe, violations

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; on Debian install the package chromium")
_WIDTHS = (1440, 390)
_FOCUS = """(() => {
  const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();
  const shown = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  const name = at.id || at.getAttribute("href") || at.getAttribute("name") || at.textContent.trim().slice(0, 40);
  const inside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return at === document.body ? "" : `${at.tagName} ${name}${shown ? "" : " has no outline"}${inside ? "" : " is off"}`;
})()"""


@pytest.fixture(scope="module", autouse=True)
def _needs_axe() -> None:
    try:
        axe()
    except AxeMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    with running_demo() as made:
        yield made


async def test_axe_finds_nothing_on_any_page(demo: Demo, tmp_path: Path) -> None:
    async with browser(tmp_path) as tab:
        found = {}
        for path in demo_paths(demo):
            await tab.open(f"{demo.url}{path[1:]}")
            for scheme in ("light", "dark"):
                for width in _WIDTHS:
                    await tab.looks(width, scheme)
                    found[path, scheme, width] = await violations(tab)
        assert {key: each for key, each in found.items() if each} == {}


async def _stops(tab: Tab) -> list[str]:
    """What the key Tab stops at, from the top of the page until it begins again."""
    stops: list[str] = []
    for _ in range(400):
        await tab.press("Tab")
        stop = await tab.value(_FOCUS)
        if not stop or (stops and stop == stops[0]):
            break
        stops.append(stop)
    return stops


async def test_by_the_keyboard_alone_one_gets_everywhere_and_sees_where_one_is(demo: Demo, tmp_path: Path) -> None:
    async with browser(tmp_path) as tab:
        finding = demo.findings()[0]["fingerprint"]
        for path in ("/", f"/findings/{finding}", "/drain?node=node05", "/repairs"):
            for width in _WIDTHS:
                await tab.looks(width, "light")
                await tab.open(f"{demo.url}{path[1:]}")
                stops = await _stops(tab)
                assert stops[0] == "A #main", path  # the link that skips what each page begins with
                assert [each for each in stops if re.search("has no outline|is off", each)] == [], (path, width)
                links = await tab.value("new Set([...document.querySelectorAll('a[href]')].map((a) => a.href)).size")
                assert len(set(stops)) > links / 2, path

        await tab.open(demo.url)
        await tab.press("Tab")
        await tab.press("Enter", "\r")
        await tab.press("Tab")
        assert await tab.value("document.querySelector('main').contains(document.activeElement)")


async def test_without_a_script_every_page_is_whole_and_its_forms_work(demo: Demo, tmp_path: Path) -> None:
    async with browser(tmp_path) as tab:
        await tab.call("Emulation.setScriptExecutionDisabled", value=True)
        for path in demo_paths(demo):
            await tab.open(f"{demo.url}{path[1:]}")
            document = await tab.call("DOM.getDocument", depth=-1)
            text = (await tab.call("DOM.getOuterHTML", nodeId=document["root"]["nodeId"]))["outerHTML"]
            assert "<h1" in text, path
            assert (
                "Reload to update" in text
                or any(each in text for each in ("Not found", "Bad request"))
                or 'role="alert"' in text
            ), path
        await tab.open(demo.url)
        root = (await tab.call("DOM.getDocument"))["root"]["nodeId"]
        search = (await tab.call("DOM.querySelector", nodeId=root, selector="#q"))["nodeId"]
        await tab.call("DOM.focus", nodeId=search)
        await tab.call("Input.insertText", text="oracle-1")
        async with tab.leading():
            await tab.press("Enter", "\r")
        assert any("/vms/billing/oracle-1" in each for each in tab.asked[-4:])


async def test_nothing_is_wider_than_a_phone(demo: Demo, tmp_path: Path) -> None:
    async with browser(tmp_path) as tab:
        await tab.looks(390, "light")
        wide = {}
        for path in demo_paths(demo):
            await tab.open(f"{demo.url}{path[1:]}")
            wide[path] = await tab.value("document.documentElement.scrollWidth")
        assert {path: width for path, width in wide.items() if width > 390} == {}
