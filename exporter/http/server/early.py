"""What is answered where there is no request yet that could be answered."""

from __future__ import annotations

IN_USE = "all connections are in use; try again in some seconds"

LONGEST_HEAD = 1 << 16  # bytes; the parser has limits only for single headers and their number


def _answer(status: str, sentence: str, *headers: str) -> bytes:
    lines = (f"HTTP/1.1 {status}", "Content-Type: text/plain; charset=utf-8", *headers, "Connection: close")
    return "\r\n".join((*lines, f"Content-Length: {len(sentence) + 1}", "", f"{sentence}\n")).encode()


FULL = _answer("503 Service Unavailable", IN_USE, "Retry-After: 5")
LONG = _answer(
    "431 Request Header Fields Too Large", f"the head of a request may have {LONGEST_HEAD} bytes; send fewer headers"
)
