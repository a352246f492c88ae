"""The CRDs of other projects, as their Go modules have them: downloaded, not built, and kept in the cache of the tools.

`python -m tests.tools.crds` gets those of all modules of crds.toml. That takes some seconds, once.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.manifests import Object, load_all
from tests.tools.build import kept, module
from tests.tools.table import CRDS, MODULES, ToolMissing

__all__ = ["published", "schemas"]

# A CRD of KubeVirt is made by a function, of a few names and one of these.
_SCHEMA = re.compile(r'^\t"(\w+)": `(.*?)`,$', re.MULTILINE | re.DOTALL)


def published(*projects: str) -> list[Object]:
    """The CRDs of tables of crds.toml, without descriptions. Raises ToolMissing."""
    return [crd for project in projects for crd in _all()["crds"][project]]


def schemas() -> dict[str, Object]:
    """KubeVirt's `openAPIV3Schema` of each of its kinds, by its name in the singular. Raises ToolMissing."""
    found: dict[str, Object] = _all()["schemas"]
    return found


@cache
def _all() -> dict[str, Any]:
    key = hashlib.sha256(CRDS.read_bytes() + Path(__file__).read_bytes()).hexdigest()[:16]
    found: dict[str, Any] = json.loads(kept(f"crds-{key}.json", lambda: json.dumps(_read())))
    return found


def _read() -> dict[str, Any]:
    crds: dict[str, list[Object]] = {}
    found: dict[str, Object] = {}
    for name, wanted in MODULES.items():
        print(f"tests/tools: reading the CRDs of {wanted}", file=sys.stderr, flush=True)
        folder = module(wanted)
        files = [file for pattern in wanted.files for file in sorted(folder.glob(pattern))]
        crds[name] = [_plain(crd) for file in files if file.suffix == ".yaml" for crd in load_all(file)]
        found |= {kind: schema for file in files if file.suffix == ".go" for kind, schema in _schemas(file)}
    return {"crds": crds, "schemas": found}


def _schemas(file: Path) -> Iterator[tuple[str, Object]]:
    for kind, text in _SCHEMA.findall(file.read_text(encoding="utf-8")):
        yield kind, _plain(yaml.load(text, Loader=yaml.CSafeLoader)["openAPIV3Schema"])


def _plain(node: Any) -> Any:
    """Without descriptions: they are two thirds of what a server would read, and bind nobody. A description is text; a
    property of that name is a schema, and stays.
    """
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: _plain(value) for key, value in node.items() if key != "description" or not isinstance(value, str)}


def main() -> int:
    try:
        schemas()
    except ToolMissing as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
