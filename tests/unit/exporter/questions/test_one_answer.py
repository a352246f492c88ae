"""One question, one answer: of a dump, of a look at a cluster, of a running exporter, and over HTTP."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest

from demo.fleet.sample import sample_fleet
from exporter.__main__ import main
from exporter.questions import all_questions
from exporter.questions.asked import (
    DrainQuery,
    FeaturesQuery,
    ImpactQuery,
    InstancetypesQuery,
    MaintenanceQuery,
    MigrationsQuery,
    NetworksQuery,
    UpgradeQuery,
    VMQuery,
    VMsQuery,
    parameters,
    sent,
)
from tests.all_of import each_of
from tests.asking import get
from tests.dumps import plain_list
from tests.manifests import Object
from tests.sharing import Fleet, Shared

QUESTIONS = {each.asked: each for each in all_questions()}
ASKED: tuple[Any, ...] = (
    NetworksQuery(),
    NetworksQuery("shop-blue"),
    InstancetypesQuery(),
    InstancetypesQuery("u1.large"),
    FeaturesQuery(),
    FeaturesQuery(("vsock", "GPU")),
    FeaturesQuery(unallowed=True),
    VMQuery("shop", "pinned"),
    VMQuery("shop", "pinned", beside="shop/web-1"),
    VMsQuery(),
    VMsQuery(namespace=("shop", "lab"), state=("Running",), sort="findings", limit="7", page="2"),
    VMsQuery(node=("node01", "node05"), cannot=("migrate", "restart")),
    VMsQuery(instancetype=("u1.large",)),
    VMsQuery(feature=("vsock",)),
    VMsQuery(network=("shop-blue",), sort="node"),
    DrainQuery(("node05", "node01")),
    DrainQuery(all_cordoned=True),
    DrainQuery(selector="kubernetes.io/hostname in (node01,node02),!gone"),
    DrainQuery(("node03",), all_cordoned=True, selector="kubernetes.io/hostname=node04"),
    MaintenanceQuery(),
    MaintenanceQuery(limit="2", page="2"),
    MaintenanceQuery(("node05", "node01")),
    UpgradeQuery(),
    UpgradeQuery("1.9"),
    ImpactQuery(enable=("VSOCK",), set=("evictionStrategy=LiveMigrate", "developerConfiguration={}")),
    ImpactQuery(disable=("GPU", "Snapshot"), upgrade_to=("1.9",)),
    ImpactQuery(("u1.large",), ("windows.11",)),
)
EMPTY = (VMsQuery(restart_required=True),)  # of which the demo has none
MISSING: tuple[Any, ...] = (
    FeaturesQuery(("vsok",)),
    VMQuery("shop", "pined"),
    VMsQuery(state=("Runing",)),
    VMsQuery(cannot=("fly",)),
    VMsQuery(limit="-1"),
    VMsQuery(sort="age"),
    DrainQuery(("node99",)),
    DrainQuery(selector="zone=nowhere"),
    MaintenanceQuery(("node99",)),
    UpgradeQuery("1.2"),
    ImpactQuery(disable=("Nothing",)),
    ImpactQuery(upgrade_to=("1.8", "1.9")),
    ImpactQuery(set=("evictionStrategy=Never",)),
    ImpactQuery(("nothing",)),
)


@pytest.fixture(scope="module")
def objects() -> list[Object]:
    return list(sample_fleet(datetime.now(UTC)).objects)


@pytest.fixture(scope="module")
def fleet(objects: list[Object]) -> Fleet:
    return lambda: copy.deepcopy(objects)


@pytest.fixture(scope="module")
def places(objects: list[Object], shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The options by which a command is told where to look."""
    path: Path = tmp_path_factory.mktemp("dump") / "fleet.json"
    path.write_text(json.dumps(plain_list(objects)), encoding="utf-8")
    return {
        "a dump": ["--from", str(path), "--complete"],
        "a look": ["--kubeconfig", str(shared.kubeconfig)],
        "a running exporter": ["--exporter", shared.url],
    }


def words(asked: Any) -> Iterator[str]:
    """The command that asks it."""
    if isinstance(asked, VMQuery):
        yield from ("vm", f"{asked.namespace}/{asked.name}", *(("--beside", asked.beside) if asked.beside else ()))
        return
    if isinstance(asked, MaintenanceQuery):
        of = {"--limit": asked.limit, "--page": asked.page}
        yield from ("drain", "--each", *asked.node, *(word for each in of.items() if each[1] for word in each))
        return
    yield QUESTIONS[type(asked)].path
    for each in parameters(type(asked)):
        value = getattr(asked, each.field)
        for one in value if each.several else [value] if value else []:
            yield from (
                (one,) if each.argument.position else (f"--{each.name}",) if each.flag else (f"--{each.name}", one)
            )


def address(asked: Any) -> str:
    """Of the API below /api/v1, and of the page that has a form for the question."""
    query = urlencode(list(sent(asked)))
    return QUESTIONS[type(asked)].path.format(**asked._asdict()) + (f"?{query}" if query else "")


def undated(report: Any) -> Any:
    """Without what differs between two looks: their generations, and since when each has seen what no object dates."""
    if isinstance(report, list):
        return [undated(each) for each in report]
    if not isinstance(report, dict):
        return report
    left_out = {"generation", "since"} if report.get("sinceSource") == "firstSeen" else {"generation"}
    return {key: undated(value) for key, value in report.items() if key not in left_out}


async def said(asked: Any, where: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = await asyncio.to_thread(main, [*words(asked), *where, "-o", "json"])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@each_of("asked", ASKED + EMPTY)
async def test_it_is_the_same_wherever_it_is_asked(
    asked: Any, places: dict[str, list[str]], http: aiohttp.ClientSession, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text, _ = await get(http, f"/api/v1/{address(asked)}")
    answer = undated(json.loads(text))
    assert (status, len(text) > 200) == (200, asked not in EMPTY), text
    heard = {place: await said(asked, where, capsys) for place, where in places.items()}
    assert len({(code, err) for code, _, err in heard.values()}) == 1, heard
    for place, (_, out, _) in heard.items():
        assert undated(json.loads(out)) == answer, place


@each_of("asked", MISSING)
async def test_what_is_not_there_is_the_same_sentence(
    asked: Any, places: dict[str, list[str]], http: aiohttp.ClientSession, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text, _ = await get(http, f"/api/v1/{address(asked)}")
    assert status in (400, 404)
    for place, where in places.items():
        assert await said(asked, where, capsys) == (2, "", f"steward: {json.loads(text)['error']}\n"), place


@each_of("asked", [each for each in (*ASKED, *MISSING) if isinstance(each, DrainQuery | ImpactQuery)])
async def test_the_page_takes_what_the_api_takes(asked: Any, http: aiohttp.ClientSession) -> None:
    api, text, _ = await get(http, f"/api/v1/{address(asked)}")
    status, html, _ = await get(http, f"/{address(asked)}")
    assert (status == 200) == (api == 200)
    if isinstance(asked, DrainQuery) and api == 200:
        assert all(f"/nodes/{each['node']}" in html for each in json.loads(text)["nodes"])


def test_each_field_of_each_question_is_tried() -> None:
    tried = {(type(each), name) for each in ASKED + EMPTY for name, value in each._asdict().items() if value}
    declared = {(asked, each.field) for asked in QUESTIONS for each in parameters(asked)}
    beside = {each for each in declared if each[0] is MigrationsQuery}  # which no command asks
    assert declared - beside - tried == set()
