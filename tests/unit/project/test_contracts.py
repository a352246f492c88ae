"""Each contract about imports fails where it is broken; and who sends what."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shared import REPO

# One line for each contract that breaks it, and the module at whose end it is put.
BREAKS = {
    "the exporter does not know the sidecar": ("exporter/questions/nearest.py", "import reconcile.app"),
    "what runs in a cluster knows nothing of what is made of it": ("exporter/version.py", "import release.sbom"),
    "data flows one way": ("exporter/store/kinds/pod.py", "import exporter.checks"),
    "a gauge is what the objects say now, and not what is remembered of them": (
        "exporter/counts/base.py",
        "import exporter.counts.migrations",
    ),
    "objects are decoded to records, and records are indexed": (
        "exporter/store/kinds/node.py",
        "import exporter.store.indexes.drains",
    ),
    "a request is let in before anything is listed for it": (
        "exporter/serve/access/viewer.py",
        "import exporter.serve.api.findings",
    ),
    "a command reads, then prints": ("exporter/cli/output/vm.py", "import exporter.cli.input.once"),
    "what evaluates is pure: no clock, no environment, no I/O": ("reconcile/plan/effects.py", "import time"),
    "what plans and decides knows nothing of what reads, writes and serves": (
        "reconcile/decide/storms.py",
        "import exporter.kube.errors",
    ),
    "the adapters import the Kubernetes client, and nothing else does": ("exporter/kube/probe.py", "import kubernetes"),
    "who may send requests to an API server": ("reconcile/carry_out/loop.py", "import exporter.kube.transport"),
    "what serves can't write its certificate": ("exporter/app.py", "import exporter.cli.commands.certificate"),
    "the steps of an attempt are a line": ("reconcile/carry_out/lease.py", "import reconcile.carry_out.attempt"),
    "a repair goes one way": ("reconcile/ledger/entry.py", "import reconcile.carry_out.loop"),
    "the demo and its API server know nothing of who reads them": ("demo/fleet/sample.py", "import exporter.store"),
    "the API server does not know the demo's fleet": ("demo/apiserver/server.py", "import demo.fleet.sample"),
}
# Who may open which request: those with `GET` alone, and those with any.
READS = ("exporter/kube", "reconcile/carry_out/fresh_reads.py", "demo/repairs.py")
WRITES = ("reconcile/carry_out/execute.py", "reconcile/carry_out/lease_record.py")
LEAVE_NOTHING = ("exporter/kube/reviews.py", "exporter/kube/probe.py")  # reviews, and dry runs
ONE_SECRET = "exporter/cli/commands/certificate.py"  # of `steward certificate` in a Job of its own


def lint(top: Path) -> dict[str, bool]:
    """Whether each contract is kept, by its name."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    ran = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
    results = re.finditer(r"^(.+) (KEPT|BROKEN)(?: \(.*\))?$", ran.stdout, re.MULTILINE)
    found = {result[1]: result[2] == "KEPT" for result in results}
    assert found, ran.stdout + ran.stderr
    return found


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """The contracts of a copy in which each is broken in one place."""
    top = tmp_path_factory.mktemp("copy")
    for folder in (*roots(), "tests/tools"):
        shutil.copytree(REPO / folder, top / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPO / "pyproject.toml", top)
    for file, line in BREAKS.values():
        with (top / file).open("a", encoding="utf-8") as module:
            module.write(f"\n{line}\n")
    return lint(top)


def roots() -> list[str]:
    config = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    packages: list[str] = config["tool"]["importlinter"]["root_packages"]
    return packages


def contracts() -> list[str]:
    config = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    return [each["name"] for each in config["tool"]["importlinter"]["contracts"]]


@pytest.mark.parametrize("name", contracts())
def test_a_contract_fails_where_it_is_broken(name: str, broken: dict[str, bool]) -> None:
    assert name in BREAKS, f"no line of BREAKS in {Path(__file__).name} breaks {name!r}: add one that does"
    assert broken[name] is False


def test_a_contract_names_folders() -> None:
    """A module that is added to a folder is under the contracts of the folder."""
    config = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    held = [
        name
        for contract in config["tool"]["importlinter"]["contracts"]
        for field in ("folders", "source_modules")
        for name in contract.get(field, ())
    ]
    paths = [REPO / name.replace(".", "/") for name in held]
    rooms = [path for path in paths if path.is_dir() or path == REPO / "reconcile/fresh"]  # a room of one module
    assert [path.name for path in paths if path not in rooms] == []


def opened(source: str) -> Iterator[str]:
    """The method of each request that is opened on a transport; "?" where it is no literal."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "open":
            continue
        on = node.func.value
        name = on.attr if isinstance(on, ast.Attribute) else on.id if isinstance(on, ast.Name) else ""
        if name.endswith("transport") and node.args:
            method = node.args[0]
            yield str(method.value) if isinstance(method, ast.Constant) else "?"


def allowed(file: str, method: str) -> bool:
    if file.startswith(WRITES) or file in LEAVE_NOTHING:
        return True
    if file == ONE_SECRET:
        return method in ("GET", "PATCH")
    return file.startswith(READS) and method == "GET"


def test_who_sends_what() -> None:
    sent = {
        (str(path.relative_to(REPO)), method)
        for package in ("exporter", "reconcile")
        for path in (REPO / package).rglob("*.py")
        for method in opened(path.read_text(encoding="utf-8"))
    }
    assert {each for each in sent if not allowed(*each)} == set()
    assert {file for file, method in sent if method != "GET"} >= {*WRITES, ONE_SECRET}


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("reconcile/carry_out/loop.py", "parts.transport.open('PATCH', path)"),
        ("reconcile/carry_out/fresh_reads.py", "self._transport.open(method, path)"),
        ("reconcile/cli/writing.py", "at.transport.open('GET', path)"),
        ("exporter/kube/client.py", "self._transport.open('POST', path)"),
    ],
)
def test_a_request_of_somebody_else_is_seen(file: str, line: str) -> None:
    assert [allowed(file, method) for method in opened(line)] == [False]
