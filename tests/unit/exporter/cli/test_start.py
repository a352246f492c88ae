"""What a command imports before it does anything: what it does not use costs each start of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from exporter.cli.parsers.others import FORMATS, KEYS
from exporter.rules import formats, values

# What is dear to import: of help, of what knows the checks, and of what evaluates a dump.
CLUSTER = {"aiohttp", "kubernetes", "exporter.app", "exporter.serve", "jinja2", "prometheus_client", "cryptography"}
DUMP = {"asyncio", "pydantic", "yaml", "exporter.engine.engine", "exporter.config.settings"}
KNOWS = {"msgspec", "exporter.checks", "reconcile.plan.plan", "exporter.rules", "difflib"}
DUMPED = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "uid": "u"}}'
LOOK = """
import json, sys
from exporter.__main__ import main
for words in json.loads(sys.argv[1]):
    code = main(words)
    print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def started(*commands: Sequence[str]) -> Iterator[tuple[str, int, set[str]]]:
    """Each of these commands, one after the other in a process of their own: its exit code, and what is imported by its
    end.
    """
    words = [sys.executable, "-c", LOOK, json.dumps(commands)]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    looks = [line for line in ran.stderr.splitlines() if line.startswith("[")]
    for command, line in zip(commands, looks, strict=True):
        code, modules = json.loads(line)
        yield " ".join(command), code, set(modules)


def test_help_imports_nothing_that_a_command_needs() -> None:
    helps = ["", "--help", "check --help", "help reconcile plan", "version", "--version"]
    for command, code, modules in started(*map(str.split, helps)):
        assert code == 0, command
        assert modules & (CLUSTER | DUMP | KNOWS) == set(), command


def test_an_explanation_imports_the_checks_and_nothing_that_evaluates_them() -> None:
    ((_, code, modules),) = started(["explain", "OrphanClaim"])
    assert code == 0
    assert modules & (CLUSTER | DUMP) == set()
    assert "exporter.checks" in modules


def test_a_dump_needs_no_client_and_no_server(tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text(DUMPED, encoding="utf-8")
    looks = ["check"], ["networks"], ["features"], ["instancetypes"], ["drain", "--all-cordoned"]
    for command, code, modules in started(*([*look, "--from", str(tmp_path), "--complete"] for look in looks)):
        assert code in (0, 1, 2), command
        assert modules & CLUSTER == set(), command
        assert "exporter.engine.engine" in modules, command


def test_the_lists_of_words_that_are_kept_apart_are_those_of_the_rules() -> None:
    assert tuple(formats.FORMATS) == FORMATS
    assert tuple(values.KEYS) == KEYS
