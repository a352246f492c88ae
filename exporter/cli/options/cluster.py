"""The options that select a cluster."""

from __future__ import annotations

import argparse


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("cluster")
    group.add_argument(
        "--kubeconfig", metavar="FILE", help="default: $KUBECONFIG, ~/.kube/config, else the pod's ServiceAccount"
    )
    group.add_argument("--context", metavar="NAME", help="context of the kubeconfig; default: the current one")
