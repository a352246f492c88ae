"""Reads YAML as users write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

__all__ = ["Loader", "Object", "load_all"]

Object = dict[str, Any]


class Loader(yaml.CSafeLoader):
    """PyYAML's safe loader, to which a plain `=` is a string: YAML 1.1 gives it a tag that nothing constructs."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own name and shape
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:value"]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


def load_all(path: Path) -> list[Object]:
    """The objects in a file; empty documents are left out."""
    with path.open(encoding="utf-8") as file:
        return [document for document in yaml.load_all(file, Loader=Loader) if document]  # a subclass of the safe one
