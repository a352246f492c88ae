"""Real objects of KubeVirt and its neighbours, out of the reference data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml

from tests.manifests import Object, load_all
from tests.shared import data

__all__ = ["objects"]


@cache
def objects() -> tuple[tuple[str, Object], ...]:
    """Every object with its file's path, lists taken apart; files that are no YAML of objects are left out. They are
    shared: not to be changed. Raises LookupError without the data.
    """
    return tuple(_read())


def _read() -> Iterator[tuple[str, Object]]:
    folder = data()
    for path in sorted((folder / "corpus").rglob("*")):
        if path.suffix in (".yaml", ".json") and path.name != "SOURCES.yaml":
            try:
                documents = load_all(path)
            except yaml.YAMLError:
                continue  # a fragment of a text
            for document in documents:
                for each in _flat(document):
                    yield str(path.relative_to(folder)), each


def _flat(document: Any) -> Iterator[Object]:
    if not isinstance(document, dict):
        return
    if str(document.get("kind", "")).endswith("List") and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _flat(item)
    elif document.get("kind") and document.get("apiVersion") and isinstance(document.get("metadata"), dict):
        yield document
