"""`steward serve --from`: page, API and metrics of a dump, to nobody but who sits at the machine."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from exporter.__main__ import main
from exporter.app import assemble_dump, serve
from exporter.config.settings import Config
from tests.dumps import many

VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"namespace": "shop", "name": "web", "uid": "u", "creationTimestamp": "2026-11-20T10:00:00Z"},
    "spec": {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}}}}},
}
NOW = 1795000000.0


@pytest.fixture
def dump(tmp_path: Path) -> str:
    path = tmp_path / "dump.yaml"
    path.write_text(many([VM]), encoding="utf-8")
    return str(path)


def got(url: str) -> str:
    with urllib.request.urlopen(url) as answer:
        text: str = answer.read().decode()
        return text


async def test_page_api_and_metrics_have_what_a_check_of_it_finds(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    steward = await assemble_dump(dump, NOW, Config(), complete=True, progress=lambda _: None)
    async with serve(steward, "127.0.0.1", 0, "the dump") as url:
        page, api, metrics, ready, vm = [
            await asyncio.to_thread(got, f"{url}{path}")
            for path in ("/", "/api/v1/findings", "/metrics", "/readyz", "/vms/shop/web")
        ]
        await asyncio.to_thread(main, ["check", "--exporter", url, "-o", "json"])
        asked = json.loads(capsys.readouterr().out)
    await asyncio.to_thread(main, ["check", "--from", dump, "--complete", "-o", "json"])
    checked = json.loads(capsys.readouterr().out)

    def ids(report: Any) -> list[str]:
        return sorted(each["fingerprint"] for each in report["findings"])

    assert ids(json.loads(api)) == ids(asked) == ids(checked) != []
    assert "<title>" in page
    assert "the dump" in page
    assert "NotPersisted" in vm
    assert 'namespace="shop",name="web"' in metrics
    assert ready


def test_it_is_served_until_somebody_ends_it(dump: str) -> None:
    words = [sys.executable, "-m", "exporter", "serve", "--from", dump, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as served:
        assert served.stdout is not None
        said = served.stdout.readline()
        try:
            assert said.endswith(f"/ of {dump}, as it was read; Ctrl-C ends it\n")
            assert "web" in got(f"{said.split()[1]}api/v1/findings")
        finally:
            served.send_signal(signal.SIGINT)
        assert served.wait(30) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--from", "DUMP", "--listen", "0.0.0.0:0"],
            (
                "a dump has no API server that says who may see it: whoever reaches 0.0.0.0 would; listen on "
                "127.0.0.1, or say --insecure"
            ),
        ),
        (
            ["--from", "/nowhere"],
            "/nowhere can't be read: No such file or directory; name a directory, an archive or a",
        ),
        (["--complete"], "--complete says what a dump holds; it needs --from"),
    ],
)
def test_what_can_not_be_served_is_one_sentence(
    words: list[str], says: str, dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["serve", *(dump if word == "DUMP" else word for word in words)])
    shown = capsys.readouterr()
    assert (code, shown.out, len(shown.err.splitlines())) == (2, "", 1)
    assert shown.err.startswith(f"steward: {says}")
