"""That a dump lacks an object in a namespace counts where it has all of the kind there, and nowhere else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.resources import RESOURCES
from exporter.__main__ import main
from exporter.config.settings import Config
from exporter.dump import read_dump
from exporter.engine.engine import Engine
from exporter.store.source import Source
from tests.all_of import each_of
from tests.dumps import many, plain_list, typed_list
from tests.evaluation import NOW
from tests.manifests import Object

ROWS = {row.kind: row for row in RESOURCES}
CLAIMS, VMS = ROWS["IPAMClaim"], ROWS["VirtualMachine"]


def vm(namespace: str, name: str = "db") -> Object:
    metadata = {"namespace": namespace, "name": name, "uid": f"{namespace}-{name}"}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata}


def claim(namespace: str, name: str = "db.blue") -> Object:
    """Of a VM that is in no dump."""
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "db", "uid": "gone"}
    metadata = {
        "namespace": namespace,
        "name": name,
        "uid": f"{namespace}-{name}",
        "labels": {"kubevirt.io/vm": "db"},
        "ownerReferences": [owner],
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    spec = {"network": "blue", "interface": ""}
    return {"apiVersion": "k8s.cni.cncf.io/v1alpha1", "kind": "IPAMClaim", "metadata": metadata, "spec": spec}


def page(objects: list[Object], resource: Any = VMS) -> Object:
    return typed_list(resource, objects) | {"metadata": {"continue": "eyJ2IjoibWV0", "remainingItemCount": 900}}


def dumped(folder: Path, files: dict[str, list[Object]]) -> Path:
    for name, documents in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(documents[0]) if name.endswith(".json") else many(documents), encoding="utf-8")
    return folder


def read(path: Path, *, complete: bool = False) -> Engine:
    return asyncio.run(read_dump(str(path), NOW, Config(), complete=complete, progress=lambda _: None))[0]


def seen(engine: Engine, kind: str) -> object:
    """`all` of a kind, the namespaces of which all is seen, or nothing."""
    source = engine.cluster.get(Source, "", kind)
    assert source is not None
    return "all" if source.readable else set(source.within)


WHOLE = typed_list(CLAIMS, [claim("shop"), claim("billing")])


@each_of(
    ("files", "covered"),
    [
        ({"vms.yaml": [plain_list([vm("shop")])]}, {"shop"}),
        ({"vms.yaml": [vm("shop"), vm("billing")]}, {"shop", "billing"}),  # one object each, wherever from
        ({"a.yaml": [plain_list([vm("shop")])], "b.yaml": [plain_list([vm("billing")])]}, {"shop", "billing"}),
        ({"vms.yaml": [plain_list([vm("shop"), vm("billing")])]}, "all"),
        ({"all.json": [plain_list([vm("shop"), claim("billing")])]}, "all"),  # `kubectl get vms,ipamclaims -A`
        ({"vms.json": [typed_list(VMS, [vm("shop")])]}, "all"),
        ({"vms.json": [typed_list(VMS, [])]}, "all"),
        ({"v1.json": [typed_list(VMS, [vm("shop")])], "v1alpha3.json": [typed_list(VMS, [vm("shop")])]}, "all"),
        ({"a.json": [typed_list(VMS, [vm("shop")])], "b.json": [typed_list(VMS, [])]}, {"shop"}),
        ({"a/namespaces/shop/kubevirt.io/vms.yaml": [typed_list(VMS, [vm("shop")])]}, {"shop"}),
        ({"namespaces/shop/vms.yaml": [typed_list(VMS, [])]}, {"shop"}),
        ({"vms.json": [page([vm("shop"), vm("billing")])]}, set()),
        ({"vms.yaml": [page([vm("shop"), vm("billing")])]}, set()),
        ({"a.yaml": [page([vm("shop")])], "b.yaml": [typed_list(VMS, [vm("billing")])]}, set()),
        ({"vms.json": [plain_list([vm("shop")]) | {"metadata": {"continue": "x"}}]}, set()),
    ],
)
def test_of_which_namespaces_a_dump_has_all(
    files: dict[str, list[Object]], covered: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    engine = read(dumped(tmp_path_factory.mktemp("dump"), {**files, "claims.json": [WHOLE]}))
    assert seen(engine, "VirtualMachine") == covered
    assert seen(engine, "IPAMClaim") == "all"


def found(capsys: pytest.CaptureFixture[str], path: Path, *words: str) -> tuple[int, set[tuple[str, str]], str]:
    """The exit code, the reasons with their namespaces, and why there is no answer."""
    code = main(["check", "--from", str(path), "-o", "json", "--check", "ipam_claims", *words])
    report = json.loads(capsys.readouterr().out)
    reasons = {(each["reason"], each["subject"]["namespace"]) for each in report["findings"]}
    return code, reasons, " ".join(sorted({each["why"] for each in report["unknown"]}))


def others(*namespaces: str) -> dict[str, list[Object]]:
    """All that is read beside VMs and claims, and none of it."""
    rows = [row for row in RESOURCES if row.kind not in ("VirtualMachine", "IPAMClaim")]
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each, "uid": each}} for each in namespaces]
    objects = {row.kind: spaces if row.kind == "Namespace" else [] for row in rows}
    return {f"{row.kind}.json": [typed_list(row, objects[row.kind])] for row in rows}


def test_a_claim_is_no_orphan_because_the_vms_of_its_namespace_were_not_collected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vms = {"vms.yaml": [plain_list([vm("shop", "other")])]}
    path = dumped(tmp_path, {**others("shop", "billing"), **vms, "claims.json": [WHOLE]})
    code, reasons, why = found(capsys, path)
    assert code == 2
    assert {namespace for _, namespace in reasons} == {"shop"}  # where all VMs are seen, its VM is gone
    assert "the dump has virtualmachines.kubevirt.io of shop alone; add the output of: kubectl get " in why
    assert found(capsys, path, "-n", "billing")[:2] == (2, set())
    code, reasons, _ = found(capsys, path, "--complete")
    assert (code, {namespace for _, namespace in reasons}) == (1, {"shop", "billing"})


def test_a_page_is_no_whole_list_and_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = {"vms.json": [page([vm("shop", "other"), vm("billing", "other")])]}
    path = dumped(tmp_path, {**others("shop", "billing"), **pages, "claims.json": [WHOLE]})
    for words in ((), ("--complete",)):
        code, reasons, why = found(capsys, path, *words)
        assert (code, reasons) == (2, set())
        assert "vms.json has only one page of a list of virtualmachines.kubevirt.io; add the output" in why
    main(["check", "--from", str(path)])
    out = capsys.readouterr().out
    assert "one page of a list" in out
    assert "no VirtualMachines in the dump" not in out
