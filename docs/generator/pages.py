"""Compiles the pages of the checks, `exporter/checks/<area>/<check>.yaml`, and the alerts of findings,
`rules/alerts/<area>.yaml`, to the one file that the exporter reads.

A page has two parts. `metrics` are its metric families by name, each once in all pages; one without `help` has the
meaning of its only reason. `reasons` has a section for each reason, with the fields of `exporter.findings.check.Reason`
in the order of `_SECTION`. What has its default is left out, and so is the metric family where the page has just one.
`message` and `next` are texts, or maps of texts by the name of a variant, `default` that of the one without a name.
Fields stand in braces, by a name and nothing else; the next step that every finding gets has none, but words in
capitals. A command is the name of one in `commands.yaml`, or, where no other reason has it, itself. With `as: CHECK` a
section is as that of its name in the page of this check, but for what it says itself; `null`, or an empty list, takes
something of that away, and `without` variants of its texts that this check never says. `remediation` is one, or a list,
the one to look at first in front. `met` says when a VM meets what a feature lacks, in `steward impact`.

A file of alerts has a `note`, which says at the top of the rules what they are about, `quiet`, the metric families of
which nothing new is reported while KubeVirt is upgraded, and `alerts` by their names, each with the fields of
`exporter.rules.model.FindingAlert` in the order of `_ALERT`.

It imports no check, since none can be imported before its page is compiled.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

import yaml

from exporter.config.forms import parse_duration
from exporter.domain.acts import Act, Among
from exporter.findings.causes import Cause
from exporter.findings.pages import NEXT_CHARACTERS
from exporter.findings.severity import Severity

from .files import TOP, kept

__all__ = ["ALERTS", "CHECKS", "FILE", "PageError", "compiled", "generated"]

FILE = "exporter/findings/pages.json"
CHECKS = TOP / "exporter/checks"
ALERTS = TOP / "rules/alerts"
_COMMANDS = "commands.yaml"
_WIDTH = 120
_TITLE = 60  # characters
_SEVERITIES = re.compile(rf"\b({'|'.join(each.value for each in Severity)})\b", re.IGNORECASE)


class PageError(ValueError):
    """One sentence: the file, the section, and what is wrong there."""


def generated() -> dict[str, str]:
    return {FILE: compiled([CHECKS], [ALERTS])}


class _Page(NamedTuple):
    file: str
    metrics: dict[str, Any]
    reasons: dict[str, Any]


_Pages = Mapping[str, _Page]
_Sections = dict[str, dict[str, Any]]


def compiled(folders: Iterable[Path], alerts: Iterable[Path] = ()) -> str:
    """The pages below the folders, and the alerts in others; of two of one check or area that of the later counts."""
    commands: dict[str, str] = {}
    pages: dict[str, _Page] = {}
    for folder in folders:
        here: dict[str, str] = {}
        for path in sorted(folder.rglob("*.yaml")):
            file = _named(path)
            if path.name == _COMMANDS:
                commands |= {name: _command(file, name, each) for name, each in _read(path, file).items()}
                continue
            if path.stem in here:
                raise PageError(f"{file}: check {path.stem} has another page, {here[path.stem]}")
            here[path.stem] = file
            parts = _fields(file, "", _read(path, file), _PAGE)
            pages[path.stem] = _Page(file, parts.get("metrics", {}), parts.get("reasons", {}))
    reasons = {check: _sections(pages[check], pages) for check in sorted(pages)}
    metrics = _metrics(pages, reasons)
    _look_at_commands(pages, reasons, commands)
    areas = {path.stem: path for folder in alerts for path in sorted(folder.glob("*.yaml"))}
    made, about = _alerts(dict(sorted(areas.items())))
    return _written({"alerts": made, "areas": about, "commands": commands, "metrics": metrics, "reasons": reasons})


def _named(path: Path) -> str:
    return str(path.relative_to(TOP) if path.is_relative_to(TOP) else path)


def _alerts(areas: Mapping[str, Path]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The alerts of each area, and all else that its file has."""
    alerts: dict[str, dict[str, Any]] = {}
    about: dict[str, Any] = {}
    for area, path in areas.items():
        file = _named(path)
        parts = _having(file, "", _fields(file, "", _read(path, file), _AREA), ("note", "alerts"))
        alerts[area] = {
            name: _having(file, f"alerts.{name}", _fields(file, f"alerts.{name}", each, _ALERT), ("summary", "wait"))
            for name, each in parts.pop("alerts").items()
        }
        about[area] = parts
    return alerts, about


def _having(file: str, section: str, made: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    for name in names:
        if not made.get(name):
            raise PageError(f"{file}: {section} has no {name}" if section else f"{file} has no {name}")
    return made


def _written(made: Mapping[str, Mapping[str, Any]]) -> str:
    """JSON with a line for each command, metric family and reason, so that a change of one is a change of a line."""
    parts = []
    for name, entries in made.items():
        deeper = name in ("alerts", "reasons")
        lines = (f"{_json(key)}: {_lines(each) if deeper else _json(each)}" for key, each in entries.items())
        parts.append(f"{_json(name)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(entries: Mapping[str, Any]) -> str:
    return "{\n" + ",\n".join(f"{_json(key)}: {_json(each)}" for key, each in entries.items()) + "\n}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# What the fields of a page may be; each reader raises ValueError with a clause.


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("has to be a text")
    return value


def _title(value: Any) -> str:
    text = _text(value)
    if len(text) > _TITLE or text.endswith(".") or ";" in text or _SEVERITIES.search(text):
        raise ValueError(f"has to be at most {_TITLE} characters, without a severity, semicolon or full stop")
    return text


def _texts(value: Any) -> dict[str, str]:
    """A text, or texts by their variants; the one without a name is that of \"\"."""
    texts = _named_texts(value if isinstance(value, dict) else {"default": value})
    for text in texts.values():
        _fields_in(text)
    return texts


def _fields_in(text: str) -> list[str]:
    try:
        parts = [part[1:] for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise ValueError(f"has braces that do not match: {error}") from None
    if wrong := [name for name, spec, conversion in parts if not (name or "").isidentifier() or spec or conversion]:
        raise ValueError(f"has {{{wrong[0]}}}: a field is a name and nothing else")
    return [str(name) for name, _, _ in parts]


def _next(value: Any) -> dict[str, str]:
    texts = _texts(value)
    if fields := _fields_in(texts.get("", "")):
        raise ValueError(f"has {{{fields[0]}}} where every finding gets it: a word in capitals stands for a value")
    if long := [text for text in texts.values() if len(text) > NEXT_CHARACTERS]:
        raise ValueError(f"has to be at most {NEXT_CHARACTERS} characters: {long[0]}")
    return texts


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("has to be true or false")
    return value


def _list(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise ValueError("has to be a list of texts")
    return value


def _seconds(value: Any) -> float:
    return parse_duration(value).total_seconds()


def _one_of(names: Mapping[str, str]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"has no {value!r}: there are {', '.join(names)}")
        return names[value]

    return read


def _some_of(names: Mapping[str, str]) -> Callable[[Any], list[str]]:
    read = _one_of(names)
    return lambda value: [read(each) for each in _list(value)]


def _map(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value):
        raise ValueError("has to be a map by names")
    return value


def _named_texts(value: Any) -> dict[str, str]:
    """Texts by their names; that of `default` is that of \"\"."""
    return {"" if name == "default" else name: _text(text) for name, text in _map(value).items()}


_ACTS = _some_of({each.name.lower(): each.name for each in Act})
_Fields = Mapping[str, Callable[[Any], Any]]
_PAGE: _Fields = {"metrics": _map, "reasons": _map}
_METRIC: _Fields = {"help": _text, "aged": _flag, "stability": _text}
_FORBIDS: _Fields = {
    "acts": _ACTS,
    "because": _text,
    "among": _one_of({each.name.lower(): each.name for each in Among}),
}
_AREA: _Fields = {"note": _text, "quiet": _list, "alerts": _map}
_ALERT: _Fields = {
    "by": _list,
    "counted": _flag,
    "cluster_wide": _flag,
    "impact": _text,
    "not_paging": _text,
    "summary": _text,
    "description": _text,
    "mild_summary": _text,
    "mild": _text,
    "wait": _text,
    "keep": _text,
}
_SECTION: _Fields = {
    "as": _text,
    "without": _list,
    "title": _title,
    "severity": _some_of({each.value: each.value for each in Severity}),
    "severity_when": _text,
    "metric": _text,
    "grace": _seconds,
    "lasting": _flag,
    "message": _texts,
    "meaning": _text,
    "impact": _text,
    "next": _next,
    "commands": _list,
    "alert": _text,
    "pages": _flag,
    "not_paging": _text,
    "met": _text,
    "remediation": lambda value: _list([value] if isinstance(value, str) else value),
    "cause": _one_of({each.name.lower(): each.name for each in Cause}),
    "does": _ACTS,
    "forbids": _map,
}


def _fields(file: str, section: str, given: Any, fields: _Fields, *, over: bool = False) -> dict[str, Any]:
    """What is given, read; a section that is `over` another one may take something away."""
    where = f"{file}: {section}" if section else file
    try:
        found = _map(given)
    except ValueError as error:
        raise PageError(f"{where} {error}") from None
    for name in found:
        if name not in fields:
            raise PageError(f"{where} has an unknown key {name}: there are {', '.join(fields)}")
    if list(found) != [name for name in fields if name in found]:
        raise PageError(f"{where} has its keys in another order than {', '.join(n for n in fields if n in found)}")
    made: dict[str, Any] = {}
    for name, value in found.items():
        if over and value in (None, []):
            made[name] = None
            continue
        try:
            made[name] = fields[name](value)
        except ValueError as error:
            raise PageError(f"{where}: {name} {error}") from None
    return made


def _sections(page: _Page, pages: _Pages) -> _Sections:
    return {name: _section(page, name, pages) for name in page.reasons}


def _section(page: _Page, reason: str, pages: _Pages, *, taken: bool = False) -> dict[str, Any]:
    """One reason; `taken` by another page, for which it may not be as a third one."""
    section, given = f"reasons.{reason}", page.reasons[reason]
    made = _fields(page.file, section, given, _SECTION, over=isinstance(given, dict) and "as" in given)
    if made.get("forbids") is not None:
        made["forbids"] = _forbids(page.file, section, made["forbids"])
    if other := made.pop("as", ""):
        if taken or other not in pages or reason not in pages[other].reasons:
            raise PageError(f"{page.file}: {section} is as that of {other}, which has none of its own")
        made = {**_less(page.file, section, _section(pages[other], reason, pages, taken=True), made), **made}
    if "without" in made:
        raise PageError(f"{page.file}: {section} is without something, and as no other")
    if len(page.metrics) == 1:
        made.setdefault("metric", *page.metrics)
    _having(page.file, section, made, ("title", "severity", "metric", "meaning", "impact"))
    return {name: made[name] for name in _SECTION if made.get(name) is not None}


def _less(file: str, section: str, taken: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    """What is taken from another page, less the variants that `made` says it is without."""
    texts = {name: dict(taken[name]) for name in ("message", "next") if name in taken}
    for variant in made.pop("without", None) or ():
        if not any(each.pop(variant, None) for each in texts.values()):
            raise PageError(f"{file}: {section} is without {variant}, which there is not")
    return taken | texts


def _forbids(file: str, section: str, given: dict[str, Any]) -> dict[str, Any]:
    made = _fields(file, f"{section}.forbids", given, _FORBIDS)
    return _having(file, f"{section}.forbids", made, ("acts", "because"))


def _metrics(pages: _Pages, reasons: Mapping[str, _Sections]) -> dict[str, dict[str, Any]]:
    """Every metric family, as `Family` has it."""
    meanings: dict[str, list[str]] = {}
    for sections in reasons.values():
        for each in sections.values():
            meanings.setdefault(each["metric"], []).append(each["meaning"])
    found: dict[str, dict[str, Any]] = {}
    for check in sorted(pages):
        for name, given in pages[check].metrics.items():
            where = f"{pages[check].file}: metrics.{name}"
            made = _fields(pages[check].file, f"metrics.{name}", given, _METRIC)
            if name in found:
                raise PageError(f"{where} is in another page too")
            if name not in meanings:
                raise PageError(f"{where} is of no reason")
            if "help" not in made and len(meanings[name]) > 1:
                raise PageError(f"{where} has no help, and several reasons")
            found[name] = {"name": name, "help": meanings[name][0], **made}
    for check, sections in reasons.items():
        for reason, section in sections.items():
            if section["metric"] not in found:
                raise PageError(f"{pages[check].file}: reasons.{reason} has an unknown metric {section['metric']}")
    return dict(sorted(found.items()))


def _command(file: str, name: str, given: Any) -> str:
    if not isinstance(given, str) or " " not in given or " " in name:
        raise PageError(f"{file}: {name} has to be a command, and its name one word")
    return given


def _look_at_commands(pages: _Pages, reasons: Mapping[str, _Sections], commands: Mapping[str, str]) -> None:
    """Whether each command is known, and each that several reasons have has a name."""
    names = {text: name for name, text in commands.items()}
    first: dict[str, str] = {}
    for check, sections in reasons.items():
        for reason, section in sections.items():
            where = f"{pages[check].file}: reasons.{reason}"
            for each in section.get("commands", ()):
                if " " not in each and each not in commands:
                    raise PageError(f"{where} has an unknown command {each}")
                if each in names:
                    raise PageError(f"{where} has the command {names[each]} in full")
                if " " in each and first.setdefault(each, where) != where:
                    raise PageError(f"{where} has a command of {first[each]}: it belongs to {_COMMANDS}, by a name")


class _Loader(yaml.SafeLoader):
    """Refuses a key that is there twice, of which YAML takes the last."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> Iterator[dict[Any, Any]]:
    made: dict[Any, Any] = {}
    yield made
    for key, value in node.value:
        name = loader.construct_object(key, deep=True)
        if name in made:
            raise yaml.MarkedYAMLError(problem=f"{name} is there twice", problem_mark=key.start_mark)
        made[name] = loader.construct_object(value, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def _read(path: Path, file: str) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > _WIDTH:
            raise PageError(f"{file}: line {number} is longer than {_WIDTH} characters")
    try:
        return _map(yaml.load(text, _Loader))  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark.line + 1 if error.problem_mark else 1
        raise PageError(f"{file}: line {at}: {error.problem}") from None
    except ValueError as error:
        raise PageError(f"{file} {error}") from None


def main() -> int:
    """Writes the compiled file, or says what is wrong; with `--verify` whether it is out of date."""
    try:
        return kept(generated())
    except PageError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
