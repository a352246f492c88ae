"""Each command in the documents is run by a test, or says why not; those of `steward` and `make` are what there is.

A block says it in its first line: ```sh run-by: tests/…/test_x.py, or ```sh not-in-tests: why. Without that it has
commands of `steward` and `make` alone, which are held here to the parser and the Makefile.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import yaml

from exporter.cli.parsing import parsed
from tests.all_of import each_of
from tests.manuals import MANUALS, CodeBlock, blocks_of, commands_of
from tests.shared import REPO

BLOCKS = [block for manual in MANUALS for block in blocks_of(manual)]
COMMANDS = [(block, command) for block in BLOCKS for command in commands_of(block)]
TARGETS = set(re.findall(r"^([a-z-]+|\.venv/\.\w+):", (REPO / "Makefile").read_text("utf-8"), re.MULTILINE)) | {
    ".venv/.run",
    ".venv/.dev",
}
# What stands for something of the reader's, and what the parser takes in its place.
PLACES = {"PATH": "dump", "NODE": "node01", "ATTEMPT": "255661b6845dd297-1", "BEFORE": "a", "AFTER": "b"}


def test_there_are_commands_to_hold_to_something() -> None:
    assert len(COMMANDS) > 100
    assert len({block.manual for block, _ in COMMANDS}) > 12


@each_of("block", [each for each in BLOCKS if commands_of(each)], ids=lambda block: block.where)
def test_what_is_neither_steward_nor_make_is_run_by_a_test_or_says_why_not(block: CodeBlock) -> None:
    if block.untried:
        return
    if block.run_by:
        test = REPO / block.run_by
        assert test.is_file(), f"{block.where}: there is no {block.run_by}"
        name = str(block.manual.relative_to(REPO))
        assert name in test.read_text("utf-8"), f"{block.where}: {block.run_by} does not name {name}"
        return
    others = [each for each in commands_of(block) if words(each)[0] not in ("steward", "make")]
    assert others == [], (
        f"{block.where}: say `sh run-by: TEST` or `sh not-in-tests: WHY` in the line that opens the block"
    )


@each_of(("block", "command"), COMMANDS, ids=lambda each: getattr(each, "where", None))
def test_a_command_of_steward_is_one_that_its_parser_takes(block: CodeBlock, command: str) -> None:
    for part in re.split(r"\s[|>]\s", command)[:1]:
        said = words(part)
        if said[0] == "steward":
            assert taken([PLACES.get(word, word) for word in said[1:]]), f"{block.where}: {command}"


@each_of(("block", "command"), COMMANDS, ids=lambda each: getattr(each, "where", None))
def test_a_target_of_make_and_a_folder_of_kustomize_are_there(block: CodeBlock, command: str) -> None:
    said = words(command)
    if said[0] == "make":
        named = [word for word in said[1:] if "=" not in word]
        assert set(named) <= TARGETS, f"{block.where}: {command}"
    for folder in re.findall(r"-k (deploy/\S+|dashboards/\S+)", command):
        assert (REPO / folder / "kustomization.yaml").is_file(), f"{block.where}: {command}"


def taken(said: list[str]) -> bool:
    """Whether the parser takes it; it prints why not."""
    try:
        parsed(said)
    except SystemExit as end:
        return end.code == 0
    return True


@each_of("manual", MANUALS, ids=lambda manual: manual.name)
def test_what_is_shown_as_yaml_is(manual: Path) -> None:
    for text in re.findall(r"^```yaml[^\n]*\n(.*?)^```$", manual.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        assert list(yaml.safe_load_all(text)) != [None], text


def words(command: str) -> list[str]:
    """As a shell has them, without settings of variables before the command."""
    said = shlex.split(command.removeprefix(".venv/bin/"))
    while said and re.fullmatch(r"\w+=.*", said[0]):
        said.pop(0)
    return said
