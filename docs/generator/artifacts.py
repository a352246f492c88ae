"""What is generated and only an installer needs: the mixin, the dashboards of Perses, the bundle for OLM.

`make artifacts` writes them to build/artifacts, a release has each as an archive, and git has a digest of each.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

__all__ = ["DIGESTS", "of", "tracked"]

DIGESTS = "release/artifacts.sha256"
_FOLDER = "artifacts/"
_COPIED = "dashboards/console/"  # which the chart has: the overlays of OpenShift take that copy


def of(generated: Mapping[str, str]) -> dict[str, str]:
    """The text of each file of an artifact, by its path within the folder of all artifacts."""
    return {path.removeprefix(_FOLDER): text for path, text in generated.items() if path.startswith(_FOLDER)}


def tracked(generated: Mapping[str, str]) -> dict[str, str]:
    """What of all that is generated git has: all but the artifacts, and a digest of each of these."""
    made = of(generated)
    left = {path: text for path, text in generated.items() if not path.startswith((_FOLDER, _COPIED))}
    return left | {DIGESTS: "".join(f"{digest}  {name}\n" for name, digest in sorted(_digests(made).items()))}


def _digests(made: Mapping[str, str]) -> dict[str, str]:
    sums: dict[str, Any] = defaultdict(hashlib.sha256)
    for path, text in sorted(made.items()):
        sums[path.partition("/")[0]].update(f"{path}\0{text}\0".encode())
    return {name: each.hexdigest() for name, each in sums.items()}
