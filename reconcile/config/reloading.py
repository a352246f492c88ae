"""What of a changed configuration takes effect while the sidecar runs. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from exporter.config.mistakes import Mistake, Mistakes

from ..plan.remediation import Remediation
from .loading import LoadedSidecar
from .modes import may_write
from .settings import SidecarConfig


def in_effect(started: SidecarConfig, new: SidecarConfig) -> SidecarConfig:
    """The new one, but for what takes effect at the next start alone."""
    return started.model_copy(update={name: getattr(new, name) for name in SidecarConfig.live})


def reloaded(
    started: LoadedSidecar, new: LoadedSidecar | Mistakes, remediations: Iterable[Remediation], file: Path | None
) -> LoadedSidecar | Mistakes:
    """Refused also where something may be written now, and nothing could be when it was started: without a Lease."""
    remediations = tuple(remediations)
    if isinstance(new, Mistakes) or may_write(started.config, remediations) or not may_write(new.config, remediations):
        return new
    why = "nothing could be written when the sidecar was started, and so it holds no Lease; restart it"
    return Mistakes((Mistake(str(file), "mode", why),))
