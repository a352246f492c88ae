"""The page in a real browser, which has no script to run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.exporter import Exporter, grant
from tests.cluster.fleet import claimed_vm, delete_vm

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; on Debian install the package chromium")
def test_chromium_shows_the_findings(api_server: ApiServer, client: Client, namespace: str, tmp_path: Path) -> None:
    grant(client)
    claimed_vm(client, namespace, "db")
    delete_vm(client, namespace, "db")
    with Exporter(api_server.kubeconfig("steward-exporter"), graces=0.0) as exporter:
        exporter.wait_ready().wait_found(namespace, {"db.blue": "StuckTerminatingOwnerGone"})
        dom = browse(tmp_path, "--dump-dom", f"{exporter.url}/?namespace={namespace}")
        picture = tmp_path / "page.png"
        browse(tmp_path, f"--screenshot={picture}", "--window-size=1280,1600", exporter.url)

    assert f"{namespace}/db.blue" in dom
    assert "StuckTerminatingOwnerGone" in dom
    assert "<script" not in dom
    assert picture.stat().st_size > 20_000  # a blank page is a few kilobytes


def browse(folder: Path, *words: str) -> str:
    assert CHROMIUM
    command = [CHROMIUM, *QUIET, f"--user-data-dir={folder / 'profile'}", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
