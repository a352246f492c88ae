"""Every page of every sort of fleet, at three widths, light and dark: nothing is wider than the screen, axe-core finds
nothing, and the worst cause is in the first fold. `make test-pages` looks at all of them, `make test-long` at those of
the demo, in two ways.

With $STEWARD_PICTURES all widths are looked at in both schemes, and a picture of each is put into that folder:
FLEET/PATH-WIDTH-SCHEME.webp.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cluster.browser import CHROMIUM, Tab, browser
from tests.cluster.page_fleets import Fleet, fleets

from .browser import AxeMissing, axe, violations

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; on Debian install the package chromium"),
]
_WIDTHS = (1440, 1280, 390)
_ALL_LOOKS = tuple((width, scheme) for width in _WIDTHS for scheme in ("light", "dark"))
_ALL = os.environ.get("PAGES") == "all"
_EACH_WAY = ((1440, "dark"), (1280, "light"), (1280, "dark"), (390, "light"))  # a scheme changes no width
_LOOKS = _EACH_WAY if _ALL else ((1280, "dark"), (390, "light"))
_FOLD = (".count", ".trust", "article.cause h3", ".drains li")
_BELOW = f"""{list(_FOLD)}.filter((part) => document.querySelector(part)?.getBoundingClientRect().bottom > 844)
  .map((part) => `${{part}} is below the first fold`)"""
_LONGEST = 4000  # pixels of a picture


@pytest.fixture(scope="module", autouse=True)
def _needs_axe() -> None:
    try:
        axe()
    except AxeMissing as missing:
        pytest.skip(str(missing))


async def looked_at(tab: Tab, fleet: Fleet, pictures: Path | None) -> AsyncIterator[tuple[str, str]]:
    """What is wrong, and where."""
    await tab.call("Network.setExtraHTTPHeaders", headers=dict(fleet.headers))
    for path in fleet.paths:
        await tab.looks(_WIDTHS[0], "light")
        await tab.open(f"{fleet.url}{path}")
        for width, scheme in _LOOKS if pictures is None else _ALL_LOOKS:
            await tab.looks(width, scheme)
            where = f"{fleet.name}: {path} at {width}, {scheme}"
            if (wide := await tab.value("document.documentElement.scrollWidth")) > width:
                yield where, f"{wide} pixels wide"
            if width != _WIDTHS[0]:  # of the same form as at 1280
                for each in await violations(tab):
                    yield where, each
            if path == "/":
                for each in await tab.value(_BELOW):
                    yield where, each
            if pictures is not None:
                file = pictures / _name(fleet.name) / f"{_name(path)}-{width}-{scheme}.webp"
                _put(file, await _picture(tab))


def _put(file: Path, picture: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(picture)


async def _picture(tab: Tab) -> bytes:
    width, height = await tab.value("[innerWidth, document.documentElement.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": width, "height": min(height, _LONGEST), "scale": 0.5}
    options = {"format": "webp", "quality": 60, "captureBeyondViewport": True, "clip": clip}
    return base64.b64decode((await tab.call("Page.captureScreenshot", **options))["data"])


def _name(text: str) -> str:
    return re.sub("[^a-z0-9.]+", "-", text.lower()).strip("-") or "overview"


async def test_every_page_of_every_sort_of_fleet_fits_the_screen_and_shuts_nobody_out(tmp_path: Path) -> None:
    pictures = os.environ.get("STEWARD_PICTURES")
    async with fleets(tmp_path) as every, browser(tmp_path) as tab:
        folder = Path(pictures) if pictures else None
        seen = every if _ALL else every[:1]
        wrong = [each for fleet in seen async for each in looked_at(tab, fleet, folder)]
    assert wrong == []
