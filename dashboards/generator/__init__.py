"""The boards: one model of what they show, and a writer for each program that draws them."""

from __future__ import annotations

from exporter.rules.alertmanager import USUAL

from .cluster_label import with_cluster_label
from .definitions import all_boards
from .manifests import files

__all__ = ["all_boards", "generated"]


def generated(cluster: str = USUAL) -> dict[str, str]:
    """The text of each generated file, by its path from the project's top. `cluster` is the label that tells clusters
    apart.
    """
    return files(with_cluster_label(board, cluster) for board in all_boards())
