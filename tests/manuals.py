"""The documents that people read, and the code blocks in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.shared import REPO

__all__ = ["MANUALS", "CodeBlock", "blocks_of", "commands_of"]

MANUALS = [*(REPO / name for name in ("README.md", "CONTRIBUTING.md")), *sorted(REPO.glob("docs/*.md"))]
_FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMANDS = (
    r"(?:\.venv/bin/)?steward|make|kubectl|oc|helm|amtool|mimirtool|curl|git|podman|skopeo|sha256sum|cp|source|python3?"
)
_COMMAND = re.compile(rf"^\$? ?((?:\w+=\S+ )*(?:{_COMMANDS}) .*)$")
_COMMENT = re.compile(r"(?<!\S)#\s.*$")


@dataclass(frozen=True)
class CodeBlock:
    """`run_by` is the test that runs it, `untried` why none does; both are in the line that opens it."""

    manual: Path
    line: int
    text: str
    run_by: str
    untried: str

    @property
    def where(self) -> str:
        return f"{self.manual.relative_to(REPO)}:{self.line}"


def blocks_of(manual: Path) -> Iterator[CodeBlock]:
    text = manual.read_text(encoding="utf-8")
    for found in _FENCED.finditer(text):
        _, _, info = found[1].partition(" ")
        how, _, what = info.partition(": ")
        run_by, untried = (what if how == name else "" for name in ("run-by", "not-in-tests"))
        yield CodeBlock(manual, text.count("\n", 0, found.start()) + 1, found[2], run_by, untried)


def commands_of(block: CodeBlock) -> list[str]:
    """Each command, without its comment and with the lines that continue it; what it prints is left out."""
    joined = re.sub(r"\s*\\\n\s*", " ", block.text)
    lines = (_COMMENT.sub("", line).strip() for line in joined.splitlines())
    return [found[1].strip() for line in lines if (found := _COMMAND.match(line))]
