"""Runbooks as HTML: by section, with the names of a finding filled in, and with a sign at what changes something.

Names are put into the tokens of the Markdown, never into its source: nothing in a name is markup.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from itertools import chain, groupby
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

from ...questions.commands import command, writes
from ...runbook import anchor, links
from ...store.kinds.templates import POOL, REPLICA_SET

_ASSIGNED = re.compile(r"\b([A-Z][A-Z0-9_]*)='<([a-z ]+)>'")
_NAME = r"\$(?:\{([A-Z][A-Z0-9_]*)\}|([A-Z][A-Z0-9_]*)\b)"  # not `${NAME:+…}`, of which the shell makes something else
_VARIABLE = re.compile(f'"{_NAME}"|{_NAME}')
_PLAIN = re.compile(r"[A-Za-z0-9._/-]+")  # what means the same to a shell inside and outside of quotes
_REASON = re.compile(r"`(\w+)`")
_NOTE = re.compile(r"With .*\.", re.DOTALL)  # a paragraph about a reason, with nothing below
_SHELL = ("sh", "bash", "shell")
# Objects that make VMs or VMIs. Commands for one of them by the name of the finding's object are for no other kind.
_MAKERS = {kind.resource: kind.name for kind in (POOL, REPLICA_SET)} | {"replicaset.yaml": REPLICA_SET.name}
_BY_NAME = re.compile(r'kubectl \w+ (?:(?=\S+ [^\n]*"\$NAME")|[^\n]*-f )(\S+)')  # the kind, or the file it was saved to
_STEWARD = "STEWARD"  # the variable with the namespace that the steward runs in


@dataclass(frozen=True)
class RunbookBlock:
    """A part of a section that stays together. `reasons` are those that it is about; none where it is about all. `kind`
    is the only kind of object that its commands are for, empty where they are not for one alone.
    """

    tokens: list[Token]
    reasons: frozenset[str] = frozenset()
    kind: str = ""

    def concerns(self, reasons: frozenset[str], kind: str) -> bool:
        """Whether it is for findings with these reasons, about an object of this kind; empty where any."""
        return (not self.reasons or bool(self.reasons & reasons)) and (not self.kind or kind in ("", self.kind))


@dataclass(frozen=True)
class RunbookSection:
    title: str
    blocks: list[RunbookBlock] = field(default_factory=list)


@cache
def _markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable("table")
    made.renderer = _Renderer(made)
    return made


class _Renderer(RendererHTML):
    def fence(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        token = tokens[idx]
        language, text = (token.info.split() or [""])[0], token.content.rstrip("\n")
        code = f'<pre tabindex="0"><code>{escape(text, quote=False)}</code></pre>'
        if language not in _SHELL:
            return f'<div class="output">{code}</div>\n'
        found = command(text) if writes(text) else None
        if found is None:
            return f'<div class="command">{code}</div>\n'
        dangerous = found.interrupts or found.loses
        sign = "interrupts a guest" if found.interrupts else "can't be undone" if found.loses else "changes the cluster"
        kind = "interrupts" if dangerous else "changes"
        said = f'<p class="effects"><span class="sign {kind}">{sign}</span> {escape(" ".join(found.effects))}</p>'
        return f'<div class="command{" dangerous" if dangerous else ""}">{said}{code}</div>\n'

    def heading_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        tokens[idx].attrSet("id", anchor(tokens[idx + 1].content))
        return self.renderToken(tokens, idx, options, env)

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        target = str(tokens[idx].attrGet("href") or "")
        tokens[idx].attrSet("href", _linked(target))
        tokens[idx].attrSet("rel", "noreferrer")
        return self.renderToken(tokens, idx, options, env)


def _linked(target: str) -> str:
    """Where a link of a runbook leads from here: other runbooks are here too, other pages are in the repository."""
    if target.startswith(("https://", "http://", "#")):
        return target
    if "/" not in target:
        return f"/runbooks/{target}"
    return f"{links()}/{target}"


def sections(text: str, reasons: Iterable[str] = ()) -> list[RunbookSection]:
    """The sections of a runbook without its title; `reasons` are all that its alert has."""
    known = frozenset(reasons)
    found: list[RunbookSection] = []
    for tokens in _apart(_markdown().parse(text)):
        first = tokens[0]
        if first.type == "heading_open" and first.tag == "h1":
            continue
        if first.type == "heading_open" and first.tag == "h2":
            found.append(RunbookSection(tokens[1].content))
        elif found:
            _add(found[-1].blocks, tokens, known)
    return [RunbookSection(each.title, [part for block in each.blocks for part in _by_kind(block)]) for each in found]


def _by_kind(block: RunbookBlock) -> Iterable[RunbookBlock]:
    """As a whole, or parted where some paragraphs with the commands below them are for one kind."""
    if kind := _kind_of(block.tokens):
        yield replace(block, kind=kind)
        return
    parts: list[list[Token]] = [[]]
    for tokens in _apart(block.tokens):
        if parts[-1] and parts[-1][-1].type == "fence" and tokens[0].type != "fence":
            parts.append([])
        parts[-1] += tokens
    for own, alike in groupby(parts, key=_kind_of):
        yield RunbookBlock(list(chain.from_iterable(alike)), block.reasons, own)


def _kind_of(tokens: Iterable[Token]) -> str:
    """The kind whose object all of the commands name, as NAME; empty where they name others, too, or none."""
    every = [_BY_NAME.findall(each.content) for each in tokens if each.type == "fence" and each.info in _SHELL]
    kinds = {_MAKERS.get(resource, "") for found in every for resource in found or [""]}
    return kinds.pop() if len(kinds) == 1 else ""


def _add(blocks: list[RunbookBlock], tokens: list[Token], known: frozenset[str]) -> None:
    """A paragraph that begins with reasons is about these, and so is what follows it up to the next one that begins so
    or in bold. One that begins with `With` and ends with a full stop is about them alone.
    """
    if tokens[0].type in ("bullet_list_open", "ordered_list_open"):
        items = _items(tokens)
        own = [_led(item, known) or frozenset() for item in items]
        if any(own):
            before = [item for item, about in zip(items, own, strict=True) if not about]
            if before:
                blocks.append(RunbookBlock([tokens[0], *(token for item in before for token in item), tokens[-1]]))
            blocks += [
                RunbookBlock([tokens[0], *item, tokens[-1]], about)
                for item, about in zip(items, own, strict=True)
                if about
            ]
            blocks.append(RunbookBlock([]))  # what follows a list is about all again
            return
    about = _led(tokens, known)
    if about and blocks and blocks[-1].tokens[-1:] and blocks[-1].tokens[-1].type == "heading_close":
        blocks[-1] = RunbookBlock([*blocks[-1].tokens, *tokens], about)  # who has no part of it needs no heading
        return
    if about is not None or not blocks or tokens[0].type == "heading_open":
        blocks.append(RunbookBlock(list(tokens), about or frozenset()))
    else:
        blocks[-1].tokens.extend(tokens)
    if about and _NOTE.fullmatch(_text(tokens)):
        blocks.append(RunbookBlock([]))


def _led(tokens: Sequence[Token], known: frozenset[str]) -> frozenset[str] | None:
    """The reasons that a paragraph begins with, in bold or after `With`; none if it begins otherwise in bold. None
    where it goes on with what is before it.
    """
    text = _text(tokens)
    bold = re.match(r"\*\*(.+?)\*\*", text, re.DOTALL)
    lead = bold[1] if bold else re.split(r"[:,.]\s", text, maxsplit=1)[0]
    found = frozenset(_REASON.findall(lead)) & known if lead.startswith(("`", "With `")) else frozenset()
    return found if found or bold else None


def _text(tokens: Sequence[Token]) -> str:
    """Of the first paragraph, without the sign of what interrupts or loses something."""
    return next((token.content for token in tokens if token.type == "inline"), "").removeprefix("⚠ ")


def _apart(tokens: Sequence[Token]) -> Iterable[list[Token]]:
    """The blocks of the top level."""
    own: list[Token] = []
    for token in tokens:
        own.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield own
            own = []


def _items(tokens: Sequence[Token]) -> list[list[Token]]:
    items: list[list[Token]] = []
    for token in tokens[1:-1]:
        if token.type == "list_item_open" and token.level == 1:
            items.append([])
        items[-1].append(token)
    return items


def names_in(text: str, labels: Mapping[str, str]) -> dict[str, str]:
    """What the variables of a runbook stand for, by the labels of its alert: those that it assigns a label to, and
    always the same one. The namespace of the steward is none of them.
    """
    found: dict[str, set[str]] = {}
    for name, label in _ASSIGNED.findall(text):
        found.setdefault(name, set()).add(label)
    one = {name: next(iter(named)) for name, named in found.items() if len(named) == 1 and name != _STEWARD}
    return {name: labels[label] for name, label in one.items() if label in labels}


def rendered(tokens: Sequence[Token], names: Mapping[str, str] | None = None) -> Markup:
    """`names` are what variables stand for."""
    given = names or {}
    made = _markdown()
    whole = [_filled(token, given) for token in tokens]
    return Markup(made.renderer.render(whole, made.options, {}))  # noqa: S704 - the renderer escapes every text


def _filled(token: Token, names: Mapping[str, str]) -> Token:
    copied = token.copy()
    if token.type in ("fence", "code_inline"):
        copied.content = with_names(token.content, names)
    if token.children:
        copied.children = [_filled(child, names) for child in token.children]
    return copied


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Commands in which variables are what they stand for."""

    def assigned(found: re.Match[str]) -> str:
        return f"{found[1]}={shlex.quote(names[found[1]])}" if found[1] in names else found[0]

    def used(found: re.Match[str]) -> str:
        value = names.get(next(filter(None, found.groups())), "")
        if not _PLAIN.fullmatch(value):
            return found[0]
        in_json = found[0].startswith('"') and found.string[: found.start()].endswith('": ')
        return f'"{value}"' if in_json else value  # where a name such as 123 is no number

    parts = _ASSIGNED.sub(assigned, text).split("'")
    # A shell puts no value into what stands between single quotes.
    return "'".join(part if at % 2 else _VARIABLE.sub(used, part) for at, part in enumerate(parts))
