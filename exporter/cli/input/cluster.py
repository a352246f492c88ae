"""The options that select a cluster."""

from __future__ import annotations

import argparse

from ...config.settings import Config
from ...kube.transport import Transport

__all__ = ["add_cluster_options", "transport_of"]


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("cluster")
    group.add_argument(
        "--kubeconfig", metavar="FILE", help="default: $KUBECONFIG, ~/.kube/config, else the pod's ServiceAccount"
    )
    group.add_argument("--context", metavar="NAME", help="context of the kubeconfig; default: the current one")


def transport_of(config: Config) -> Transport:
    """Raises ConfigError if no cluster is configured."""
    return Transport.from_environment(config.kubeconfig, config.context)
