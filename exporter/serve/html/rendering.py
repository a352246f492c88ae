"""Renders templates, in slices; every value is escaped.

What is invisible, or turns the direction of what follows, is written out: a name could pass for another by it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from importlib.resources import files
from itertools import islice
from typing import Any
from urllib.parse import quote, urlencode

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ...facts.naming import sentence, written_out
from ...facts.record import Ref
from ...findings.causes import Reference
from ...questions.causes import AcknowledgedReport, CauseReport, acknowledged_text
from ...questions.commands import in_parts
from ...questions.urgency import pages, stakes
from ...questions.vms import acts_by_why
from ...version import installed
from ..server.sending import send

# How templates write numbers, names and addresses of pages.

_VMS = ("VirtualMachine", "VirtualMachineInstance")
_SIZES = tuple(f"Virtual{kind}" for kind in ("MachineInstancetype", "MachineClusterInstancetype"))
_PREFERENCES = ("VirtualMachinePreference", "VirtualMachineClusterPreference")
_SHORT_TEXT = {"VirtualMachine": "VM", "VirtualMachineInstance": "VMI", "VirtualMachineInstanceMigration": "migration"}
_UUID = 36  # characters
_BEGINNING = 150


def href(ref: Ref) -> str:
    """The page of an object; empty where it has none."""
    if ref.kind in _VMS and ref.namespace:
        return f"/vms/{_part(ref.namespace)}/{_part(ref.name)}"
    if ref.kind == "Node":
        return f"/nodes/{_part(ref.name)}"
    if ref.kind in (*_SIZES, *_PREFERENCES):
        return f"/instancetypes/{_part(ref.path)}"
    if ref.kind in _NAMED:
        return f"{_NAMED[ref.kind]}{_part(ref.name)}"
    return f"/runbooks/{_part(ref.name)}.md" if ref.kind == "Alert" else ""


_NAMED = {
    "Namespace": "/findings?namespace=",
    "Network": "/networks/",
    "Feature": "/features/",
    "Reason": "/findings?reason=",
}


def _part(text: str) -> str:
    """One part of a path, whatever is in it."""
    return quote(text, safe="")


def query(pairs: Iterable[tuple[str, str]]) -> str:
    return urlencode(list(pairs))


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 VM`, `2,501 VMs`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def kinds(found: Mapping[str, int]) -> str:
    """`2 IPAMClaims`, `2 VMs and 1 Node`."""
    return " and ".join(counted(number, _SHORT_TEXT.get(kind, kind)) for kind, number in found.items())


def title_of(cause: CauseReport) -> str:
    """What a cause is about: the object or thing that is to be mended, or its objects."""
    reference = cause.reference
    if cause.last:  # it has ended
        return _said(reference) or str(cause.last)
    if cause.objects == 1 and not (reference.kind or reference.node or reference.network):
        return str(cause.first[0])
    return _said(reference) or _members(cause)


def page_of_cause(cause: CauseReport) -> str:
    """Of a cause that has one finding that of the finding."""
    return f"/findings/{cause.only}" if cause.only else f"/findings?cause={cause.cause}"


def _said(reference: Reference) -> str:
    if reference.kind:
        return str(Ref(reference.kind, reference.namespace, reference.name))
    if reference.node:
        return f"Node {reference.node}"
    if reference.network:
        return f"Network {reference.network}" + (f" in {reference.namespace}" if reference.namespace else "")
    if reference.feature:
        return f"Feature {reference.feature}" + (f": {reference.name}" if reference.name else "")
    return ""


def _members(cause: CauseReport) -> str:
    """The objects that share something, or those of a namespace."""
    if cause.reference.group or cause.objects <= len(cause.first) == 2:
        named = [each.path for each in cause.first[:2]]
        more = cause.objects - len(named)
        return f"{cause.first[0].kind} " + " and ".join(named) + (f" and {more:,} more" if more else "")
    place = cause.reference.namespace
    return kinds(cause.kinds) + (f" in {place}" if place else "")


def beginning(text: str) -> str:
    """A text that is long, up to a word, with an ellipsis."""
    if len(text) <= _BEGINNING:
        return text
    return f"{text[:_BEGINNING].rsplit(' ', 1)[0].rstrip(' ,;:.')}…"


def short(text: str) -> str:
    """A UUID by its first characters; all of any other text."""
    return text[:8] if len(text) == _UUID and text.count("-") == 4 else text


def known(acknowledged: AcknowledgedReport) -> str:
    text = acknowledged_text(acknowledged)
    return f"{text[0].upper()}{text[1:]}"


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _whole_sentence(text: str) -> str:
    """A first word that may be a name, such as that of a parameter, stays as it is."""
    return sentence(capitalised(text) if text.partition(" ")[0].isalpha() else text)


_CODE = re.compile(r"`([^`]*)`")


def with_code(text: str) -> Markup:
    """A text with what stands between two backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before


FILTERS: Mapping[str, Callable[..., Any]] = {
    "href": href,
    "segment": _part,
    "in_parts": in_parts,
    "forbidden": acts_by_why,
    "stakes": stakes,
    "pages": pages,
    "counted": counted,
    "kinds": kinds,
    "known": known,
    "titled": title_of,
    "page": page_of_cause,
    "short": short,
    "beginning": beginning,
    "capitalised": capitalised,
    "whole_sentence": _whole_sentence,
    "with_code": with_code,
}


_SLICE = 500  # pieces between two looks at the event loop
_SHORT = 0xFFFF  # the last code that four digits have


def visible(value: Any) -> Any:
    """A text with what is invisible, or turns the direction, written out; line breaks and tabs stay."""
    if not isinstance(value, str) or (value.isascii() and value.isprintable()):
        return value
    shown = written_out(value, lambda each: f"\\u{ord(each):04x}" if ord(each) <= _SHORT else f"\\U{ord(each):08x}")
    return Markup(shown) if isinstance(value, Markup) else shown  # noqa: S704 - as safe as it was


_TEMPLATES = Environment(
    loader=PackageLoader("exporter.serve.html"),
    autoescape=True,
    finalize=visible,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters.update(FILTERS)


def prepare() -> None:
    """Compiles the templates, so that the first request need not."""
    for name in _TEMPLATES.list_templates(extensions=("html",)):
        _TEMPLATES.get_template(name)


def as_file(template: str, values: Mapping[str, Any]) -> str:
    """A page that is whole by itself, with its style in it."""
    style = Markup(files(__package__).joinpath("templates", "style.css").read_text(encoding="utf-8"))  # noqa: S704 - ours
    return _TEMPLATES.get_template(template).render(**{"style": style, "version": installed(), **values})


async def page_of(
    request: web.Request, template: str, values: Mapping[str, Any], status: int = 200
) -> web.StreamResponse:
    headers = {"Content-Type": "text/html; charset=utf-8"}
    return await send(request, _parts(template, values), headers, status=status)


async def _parts(template: str, values: Mapping[str, Any]) -> AsyncIterator[bytes]:
    pieces = _TEMPLATES.get_template(template).generate(**values)
    while part := "".join(islice(pieces, _SLICE)):
        yield part.encode("utf-8", "replace")
        await asyncio.sleep(0)
