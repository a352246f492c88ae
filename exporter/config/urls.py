"""URLs of servers that are asked."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, WithJsonSchema

from .forms import Text
from .mistakes import quoted


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
        raise ValueError(f"{quoted(text)} is no URL; write it as https://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL must not have a password in it; use tokenFile")
    return text.rstrip("/")


URL = Annotated[Text, AfterValidator(_url), WithJsonSchema({"type": "string", "pattern": "^https?://"})]
OptionalURL = Annotated[URL | None, WithJsonSchema({"type": "string", "pattern": "^https?://"})]
