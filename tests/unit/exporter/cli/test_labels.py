"""`steward check -l`: what is found of the VMs with some labels, of a cluster and of a dump."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.server import ApiServer, kubeconfig
from exporter.__main__ import main
from tests.dumps import many

UUID = "5b4e28ba-2fa1-41d2-883f-0016d3cca427"
Checked = Callable[..., Any]


def vm(namespace: str, name: str, kind: str = "VirtualMachine", **labels: str) -> dict[str, Any]:
    """That has no UUID of its own, which is a finding of its own."""
    template: Any = {"domain": {"devices": {}}}
    spec = {"runStrategy": "Halted", "template": {"spec": template}} if kind == "VirtualMachine" else template
    metadata = {"namespace": namespace, "name": name, "uid": f"{kind}-{namespace}-{name}", "labels": labels}
    return {"apiVersion": "kubevirt.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


VMS = [
    vm("shop", "web", tier="web", env="prod"),
    vm("shop", "api", tier="web", env="test"),
    vm("shop", "db", tier="db"),
    vm("shop", "plain"),
    vm("billing", "web", tier="web"),
]


@pytest.fixture(params=["cluster", "dump"])
async def checked(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> AsyncIterator[Checked]:
    server = ApiServer()
    await server.start()
    server.load(VMS)
    dump = tmp_path / "dump.yaml"
    dump.write_text(many(VMS), encoding="utf-8")
    of_cluster = ["--kubeconfig", str(kubeconfig(tmp_path, server.url))]
    where = of_cluster if request.param == "cluster" else ["--from", str(dump), "--complete"]

    async def check(*words: str) -> tuple[int, str, str]:
        code = await asyncio.to_thread(main, ["check", *where, *words])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    yield check
    await server.stop()


@pytest.mark.parametrize(
    ("selector", "more", "chosen"),
    [
        ("tier=web", (), ["billing/web", "shop/api", "shop/web"]),
        ("tier=web", ("-n", "shop"), ["shop/api", "shop/web"]),
        ("tier=web,env!=test", (), ["billing/web", "shop/web"]),
        ("tier in (db, cache)", (), ["shop/db"]),
        ("tier,tier notin (web)", (), ["shop/db"]),
        ("!tier", (), ["shop/plain"]),
    ],
)
async def test_only_what_is_found_of_vms_with_the_labels_is_shown(
    selector: str, more: tuple[str, ...], chosen: list[str], checked: Checked
) -> None:
    code, out, err = await checked("-l", selector, "--reason", "NotPersisted", "-o", "json", *more)
    found = {f"{f['subject']['namespace']}/{f['subject']['name']}" for f in json.loads(out)["findings"]}
    assert (code, err, sorted(found)) == (1, "", chosen)


async def test_labels_that_no_vm_has_are_a_mistake(checked: Checked) -> None:
    assert await checked("-l", "tier=cache") == (2, "", "steward: no VM has the labels tier=cache\n")
    code, out, err = await checked("-l", "tier=db", "-n", "billing")
    assert (code, out) == (2, "")
    assert err.startswith("steward: no VM has the labels tier=db")


def test_of_a_dump_without_vms_it_is_not_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "uid": "a"}}
    (tmp_path / "dump.yaml").write_text(many([node]), encoding="utf-8")
    assert main(["check", "--from", str(tmp_path), "-l", "tier=db"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "steward: no VM that is seen has the labels tier=db, and not all VMs are seen\n"
