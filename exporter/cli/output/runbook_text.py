"""The part of a runbook that is about some reasons, as text: with the names of a finding in its commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from ...checks import all_checks
from ...rules.routing import urgencies
from ...runbook import link, texts
from ...serve.html.markdown import RunbookBlock, names_in, sections, with_names
from .text.layout import paragraph

_LINK = re.compile(r"\[([^][]+)\]\([^()]*\)")
_SETS = "='<"  # a variable to what the alert has, as NAME='<name>'
_BULLET = re.compile(r"(\s*(?:[*-]|\d+\.) )")


def runbook_text(alert: str, reasons: frozenset[str], labels: Mapping[str, str], columns: int | None) -> str:
    """What is about none of the `reasons` is left out; `labels` are those of the alert, as far as they are known."""
    source = texts().get(alert, "")
    known = {name for check in all_checks() for name, reason in check.reasons.items() if reason.alert == alert}
    names = names_in(source, labels)
    urgency = urgencies().get(alert)
    head = [f"{alert}\n{link(alert)}\n"]
    head += [_paragraph(f"{urgency.urgent} {urgency.who} {urgency.morning}", columns)] if urgency else []
    parts = ["".join(head)]
    lines = source.split("\n")
    for section in sections(source, known):
        of_reasons = map(partial(_part, reasons, labels.get("kind", "")), section.blocks)
        chosen = [each for each in of_reasons if each.tokens]
        text = "\n".join(part for each in chosen for part in _block(each, lines, names, columns))
        if text:
            parts.append(f"{section.title.upper()}\n\n{text}")
    return "\n".join(parts)


def _part(reasons: frozenset[str], kind: str, block: RunbookBlock) -> RunbookBlock:
    """The block where it is for the reasons and kind; else what it sets of variables, which other commands need."""
    if block.concerns(reasons, kind):
        return block
    return RunbookBlock([each for each in block.tokens if each.type == "fence" and _SETS in each.content])


def _block(block: RunbookBlock, lines: list[str], names: Mapping[str, str], columns: int | None) -> Iterator[str]:
    """Its paragraphs, list items and commands, in their order; commands are indented, and never broken."""
    begun: set[int] = set()
    for token in block.tokens:
        if token.map is None or token.type not in ("inline", "fence", "code_block") or token.map[0] in begun:
            continue
        begun.add(token.map[0])
        if token.type != "inline":
            filled = with_names(token.content.rstrip("\n"), names).split("\n")
            yield "".join(f"    {line}".rstrip() + "\n" for line in filled)
        else:
            yield _written(lines[token.map[0] : token.map[1]], columns)


def _written(lines: Iterable[str], columns: int | None) -> str:
    first, *more = lines
    if first.lstrip().startswith("|"):  # a row of a table
        return f"{first}\n"
    bullet = _BULLET.match(first)
    text = _LINK.sub(r"\1", " ".join([first, *more]))
    return _paragraph(text[bullet.end() :] if bullet else text, columns, bullet[0] if bullet else "")


def _paragraph(text: str, columns: int | None, first: str = "") -> str:
    return (
        paragraph(" ".join(text.split()), first, columns=columns) if columns else f"{first}{' '.join(text.split())}\n"
    )
