"""The options that select a cluster."""

from __future__ import annotations

from ...config.settings import Config
from ...kube.transport import Transport


def transport_of(config: Config) -> Transport:
    """Raises ConfigError if no cluster is configured."""
    return Transport.from_environment(config.kubeconfig, config.context)
