"""Commands as a person runs them: in a shell, with kubectl and the admin's kubeconfig."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.cluster.conftest import Tools
from tests.kubevirt.control_plane import ControlPlane

__all__ = ["run"]


def run(script: str, kubevirt: ControlPlane, binary: Tools, folder: Path) -> int:
    """What the shell answers; `folder` is the person's home."""
    environment = {
        "PATH": f"{binary('kubectl').parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(kubevirt.kubeconfig()),
        "HOME": str(folder),
    }
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], env=environment, cwd=folder, check=False)
    return done.returncode
