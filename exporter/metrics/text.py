"""The text format, as far as we write it ourselves: the same in 0.0.4 and in OpenMetrics."""

from __future__ import annotations


def head(name: str, text: str) -> bytes:
    return f"# HELP {name} {escaped(text)}\n# TYPE {name} gauge\n".encode()


def escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
