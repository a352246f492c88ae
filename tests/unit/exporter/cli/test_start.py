"""What a command imports before it does anything: what it does not use costs each start of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from exporter.cli.parsers.rules import FORMATS, KEYS
from exporter.rules import formats, values

# What is dear to import: of help, of what knows the checks, and of what evaluates a dump.
CLUSTER = {"aiohttp", "kubernetes", "exporter.app", "exporter.http", "jinja2", "prometheus_client", "cryptography"}
DUMP = {"asyncio", "pydantic", "yaml", "exporter.engine.engine", "exporter.config.settings"}
KNOWS = {"msgspec", "exporter.checks", "reconcile.plan.plan", "exporter.rules", "difflib"}
DUMPED = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "uid": "u"}}'
LOOK = """
import json, sys
from exporter.__main__ import main
code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def started(*words: str) -> tuple[int, set[str]]:
    """Its exit code, and what was imported by the end."""
    ran = subprocess.run([sys.executable, "-c", LOOK, *words], capture_output=True, text=True, check=True)
    code, modules = json.loads(ran.stderr.splitlines()[-1])
    return code, set(modules)


@pytest.mark.parametrize(
    "words",
    [[], ["--help"], ["check", "--help"], ["help", "reconcile", "plan"], ["version"], ["--version"]],
    ids=" ".join,
)
def test_help_imports_nothing_that_a_command_needs(words: list[str]) -> None:
    code, modules = started(*words)
    assert code == 0
    assert modules & (CLUSTER | DUMP | KNOWS) == set()


def test_an_explanation_imports_the_checks_and_nothing_that_evaluates_them() -> None:
    code, modules = started("explain", "OrphanClaim")
    assert code == 0
    assert modules & (CLUSTER | DUMP) == set()
    assert "exporter.checks" in modules


@pytest.mark.parametrize("command", ["check", "networks", "features", "instancetypes", "drain"])
def test_a_dump_needs_no_client_and_no_server(command: str, tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text(DUMPED, encoding="utf-8")
    words = ["--all-cordoned"] if command == "drain" else []
    code, modules = started(command, "--from", str(tmp_path), "--complete", *words)
    assert code in (0, 1, 2)
    assert modules & CLUSTER == set()
    assert "exporter.engine.engine" in modules


def test_the_lists_of_words_that_are_kept_apart_are_those_of_the_rules() -> None:
    assert tuple(formats.FORMATS) == FORMATS
    assert tuple(values.KEYS) == KEYS
