"""No regular expression of ours takes more than linear time, whatever it is applied to: each is found and tried."""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, cast

from tests.all_of import each_of
from tests.served import served
from tests.shared import REPO

_ROOT = REPO
_LENGTH = 8192  # the longest line of a head
_LONGEST = 0.05  # seconds of processor time; a quadratic expression takes half a second and more
_WAYS: dict[str, Callable[[re.Pattern[Any], Any], object]] = {
    "match": re.Pattern.match,
    "fullmatch": re.Pattern.fullmatch,
    "search": re.Pattern.search,
    "findall": re.Pattern.findall,
    "finditer": re.Pattern.findall,
    "split": re.Pattern.split,
    "sub": lambda pattern, given: pattern.sub(given[:0], given),
}
_CLIENTS = ("exporter/serve/", "reconcile/app.py")
"""Where the bytes of clients are read first: no expression at all is needed there, but for what a page shows."""
_MADE_WHERE_USED = {"form"}
"""`exporter/rules/values.py`: of the forms in its own table, for values in a file of the one who installs it."""


def _modules() -> list[Path]:
    return sorted(path for package in ("exporter", "reconcile") for path in (_ROOT / package).rglob("*.py"))


@dataclass(frozen=True)
class Used:
    """A regular expression, and the ways in which its module applies it."""

    pattern: re.Pattern[Any]
    ways: frozenset[str]


@cache
def _used() -> dict[str, Used]:
    """All that are compiled when a module is imported, and all that are given as text to a function of `re`."""
    found: dict[str, Used] = {}
    for path in _modules():
        source = path.read_text("utf-8")
        if "import re\n" not in source:
            continue
        place = str(path.relative_to(_ROOT))
        module = importlib.import_module(place.removesuffix(".py").replace("/", ".").removesuffix(".__init__"))
        calls = list(_calls(ast.parse(source)))
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                ways = frozenset(way for of, way, _ in calls if of == name) & _WAYS.keys()
                found[f"{place} {name}"] = Used(value, ways or frozenset(("fullmatch", "findall")))
        for of, way, call in calls:
            if of == "re" and way in _WAYS:
                text = _given(call.args[0], vars(module))
                found[f"{place} {text!r}"] = Used(re.compile(text), frozenset((way,)))
    return found


def _calls(tree: ast.AST) -> Iterator[tuple[str, str, ast.Call]]:
    """On what, which method, and the call."""
    for node in ast.walk(tree):
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            yield function.value.id, function.attr, cast(ast.Call, node)


def _given(argument: ast.expr, names: dict[str, Any]) -> str:
    text = names.get(argument.id) if isinstance(argument, ast.Name) else getattr(argument, "value", None)
    if text is None and ast.unparse(argument) in _MADE_WHERE_USED:
        return ""
    assert isinstance(text, str), f"{ast.unparse(argument)}: give it a name in its module, so that it is tried"
    return text


def _attacks(pattern: str) -> Iterator[str]:
    """Much of what the expression has in it, behind what may begin it, without a right end."""
    sorts = dict.fromkeys((*' a0"-.,', *re.sub(r"\\.", "", pattern)))
    for each in [each for each in sorts if each.isprintable()][:20]:
        for first, last in product(("", "a", '"'), ("", "\0")):
            yield first + each * _LENGTH + last
    for pair in ("a ", "a-", "0.", '" ', "{{", ", ", "W/", "\\a", "1e"):
        yield pair * (_LENGTH // 2) + "\0"


def _seconds(work: Callable[[Any], object], given: Any) -> float:
    began = time.thread_time()
    work(given)
    return time.thread_time() - began


def _longest(used: Used) -> tuple[float, str]:
    pattern, worst = used.pattern, (0.0, "")
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    for attack, way in product(_attacks(text), sorted(used.ways)):
        given: Any = attack if isinstance(pattern.pattern, str) else attack.encode("utf-8")
        apply = partial(_WAYS[way], pattern)
        seconds = _seconds(apply, given)
        if seconds > _LONGEST:
            seconds = min(seconds, _seconds(apply, given))  # what was in the way of the first is not in that of both
        worst = max(worst, (seconds, f"{way} of {attack[:12]!r}…{attack[-1:]!r}"))
        if worst[0] > _LONGEST:
            break
    return worst


def test_there_are_expressions_to_try() -> None:
    assert len(_used()) > 40


@each_of("place", sorted(_used()))
def test_it_is_linear(place: str) -> None:
    seconds, how = _longest(_used()[place])
    assert seconds < _LONGEST, f"{how} takes {seconds:.2f} s"


def test_what_reads_clients_first_needs_none() -> None:
    found = {each for each in _used() if each.startswith(_CLIENTS)}
    of_ours = "exporter/serve/html/markdown.py"  # reads runbooks, and what stands for their variables
    assert {each.partition(" ")[0] for each in found} <= {"exporter/serve/html/rendering.py", of_ours}


def test_a_quadratic_one_would_be_noticed() -> None:
    # Of spaces alone, as is tried before all others.
    quadratic = Used(re.compile(r'\s*(?:W/)?("[^"]*")\s*(?:,|$)'), frozenset(("findall",)))
    assert _longest(quadratic)[0] > _LONGEST


TAGS = {
    "spaces": " " * 8000,
    "tabs": "\t" * 8000,
    "quotes": '"' * 8000,
    "one tag, spaces, and no comma": '"a"' + " " * 7900 + "x",
    "weak ones without an end": "W/" * 4000,
    "commas": "," * 8000,
}


@each_of("tags", TAGS.values(), ids=TAGS)
@each_of("path", ["/api/v1/findings", "/api/v1/findings?wait=0.1", "/api/v1/networks", "/api/v1/drain"])
async def test_no_header_with_tags_holds_the_loop(tags: str, path: str) -> None:
    """Seven of them are as many as the head of a request may have."""
    lines = "".join(f"If-None-Match: {tags}\r\n" for _ in range(7))
    async with served() as made:
        await made.get(path)
        before = time.thread_time()
        status, _, _ = await made.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{lines}Connection: close\r\n\r\n")
        assert time.thread_time() - before < 0.1
    assert status == 200
