"""What can be set of what is outside of the cluster: URLs of servers, and pages that ours link to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import quote, urlsplit

from pydantic import AfterValidator, Strict, WithJsonSchema, model_validator

from .forms import OptionalText, Section, Text, setting
from .mistakes import nearest, quoted

# URLs of servers that are asked.


def is_local(host: str) -> bool:
    """Whether what is sent there does not leave this host."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        sound = False
    if not sound or not text.isprintable() or " " in text or parts.query or parts.fragment:
        raise ValueError(f"{quoted(text)} is not a URL. Write it as https://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL must not contain a password. Use tokenFile")
    return text.rstrip("/")


URL = Annotated[Text, AfterValidator(_url), WithJsonSchema({"type": "string", "pattern": "^https?://"})]
OptionalURL = Annotated[URL | None, WithJsonSchema({"type": "string", "pattern": "^https?://"})]


FIELDS = (
    *("cluster", "kind", "namespace", "name", "vm", "node", "network", "feature"),
    *("check", "reason", "severity", "fingerprint", "cause"),
)
"""What a link may have in braces."""

_PARTS = re.compile(r"{([^{}]*)}|([{}])")


def _template(text: str) -> str:
    """Raises ValueError. Only what follows on the host may have fields: a name in a cluster chooses no host."""
    for field, brace in _PARTS.findall(text):
        if brace:
            raise ValueError(f"{quoted(text)} has a single brace. Write {{name}} for a name, %7B and %7D for braces")
        if field not in FIELDS:
            near = nearest(field, FIELDS)
            hint = f"Did you mean {{{near}}}?" if near else f"Fields: {', '.join(f'{{{each}}}' for each in FIELDS)}"
            raise ValueError(f"{quoted(text)} has {{{field[:40]}}}, which is not a field. {hint}")
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or not text.isascii() or not text.isprintable() or any(each in text for each in " \"'<>\\^`"):
        raise ValueError(f"{quoted(text)} is not a link. Write it as https://HOST/PATH with {{name}} and the like")
    if re.search("[{}]", parts.scheme + parts.netloc):
        raise ValueError(f"{quoted(text)} has a field in its host. Fields can only stand after the host")
    if "@" in parts.netloc:
        raise ValueError("a link must not contain a user or a password: every user of the web UI sees it")
    return text


_Template = Annotated[Text, AfterValidator(_template), WithJsonSchema({"type": "string", "pattern": "^https?://"})]


class Link(Section):
    """A page of others. It is shown for objects of its kinds, where all that its URL asks for is known."""

    name: OptionalText = setting(None, "Its name.", "text")
    url: Annotated[_Template | None, WithJsonSchema({"type": "string", "pattern": "^https?://"})] = setting(
        None, "Its address, with fields in braces.", "link"
    )
    kinds: Annotated[tuple[Text, ...], Strict(False)] = setting(
        (), "Kinds of objects that it is for. Without it: all kinds.", "list of kinds"
    )

    @model_validator(mode="after")
    def _whole(self) -> Link:
        missing = [name for name in ("name", "url") if not getattr(self, name)]
        if missing:
            raise ValueError(f"a link needs a {' and a '.join(missing)}")
        return self

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(field for field, _ in _PARTS.findall(self.url or ""))

    def address(self, values: Mapping[str, str]) -> str:
        """With the values in it, each percent-encoded; empty where one is not known, or would be taken for a step of
        the path.
        """
        if any(values.get(field, "") in ("", ".", "..") for field in self.fields):
            return ""
        return _PARTS.sub(lambda found: quote(values[found[1]], safe=""), self.url or "")
