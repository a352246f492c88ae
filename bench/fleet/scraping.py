"""Scrapes as Prometheus 3 asks for them: its Accept header, gzip, one connection for each."""

from __future__ import annotations

import gzip
import time
import urllib.request
from typing import NamedTuple

__all__ = ["Page", "scrape"]

_ACCEPT = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


class Page(NamedTuple):
    text: str
    bytes: int  # on the wire, without headers
    seconds: float
    at: float  # by CLOCK_MONOTONIC, when all of it was there


NOTHING = Page("", 0, 0.0, 0.0)


def scrape(url: str) -> Page:
    """An empty one where nobody listens yet, or where it is answered with an error."""
    request = urllib.request.Request(url, headers={"Accept": _ACCEPT, "Accept-Encoding": "gzip"})
    began = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            body = answer.read()
            ended = time.monotonic()
            packed = answer.headers.get("Content-Encoding") == "gzip"
    except OSError:
        return NOTHING
    return Page((gzip.decompress(body) if packed else body).decode(), len(body), ended - began, ended)
