"""`steward` alone, `steward help` and `steward version`."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from exporter.__main__ import main
from exporter.cli.options import subcommands
from exporter.cli.parsers import all_commands
from exporter.cli.parsing import GROUPS, steward
from exporter.version import installed


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_alone_it_prints_its_help_with_three_examples(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys)
    assert (code, err) == (0, "")
    assert (code, out, err) == said(capsys, "--help") == said(capsys, "help")
    examples = out.partition("examples:\n")[2].partition("\n\n")[0].splitlines()
    assert [each.split()[:2] for each in examples] == [["steward", "check"], ["steward", "check"], ["steward", "vm"]]


def test_each_command_is_in_one_group_of_the_help() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(subcommands(steward()))


def test_a_command_of_another_package_is_in_the_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def add(commands: Any) -> None:
        commands.add_parser("extra", help="Show what another package adds")

    monkeypatch.setattr("exporter.cli.parsing.all_commands", lambda: (*all_commands(), add))
    assert "  extra " in said(capsys, "--help")[1]


def test_help_of_a_command_is_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "help", "drain") == said(capsys, "drain", "--help")
    assert said(capsys, "help", "reconcile", "plan") == said(capsys, "reconcile", "plan", "--help")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["chekc"], "no command is called 'chekc'; did you mean check?"),
        (["reconcile", "aply"], "no command is called 'reconcile aply'; did you mean reconcile apply?"),
        (["zzz"], "no command is called 'zzz'; `steward --help` lists those that there are"),
        (["check", "x"], "no command is called 'check x'; `steward check --help` lists those that there are"),
    ],
)
def test_help_of_what_is_no_command_is_a_sentence(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "help", *words) == (2, "", f"steward: {says}\n")


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "version") == (0, f"steward {installed()}\n", "")
    assert said(capsys, "--version") == (0, f"steward {installed()}\n", "")


def test_as_a_plugin_of_kubectl_it_is_called_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/kubectl-steward"])
    _, out, _ = said(capsys)
    assert out.startswith("usage: kubectl steward ")
    assert "  kubectl steward check --from dump/ " in out
    assert said(capsys, "check", "--help")[1].startswith("usage: kubectl steward check ")
