"""Commands as a person runs them: in a shell, with kubectl and the admin's kubeconfig."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.conftest import Tools
from tests.cluster.shell import fill
from tests.kubevirt.control_plane import ControlPlane
from tests.rules import RULES, plain, steps

__all__ = ["run", "script"]

_SETS, _WRITES = re.compile(r"(?:[A-Z_]+=|case )"), re.compile(r"kubectl (?:create|patch|delete|annotate|replace)")


def script(runbook: str, words: str, values: Mapping[str, str], **overruled: str) -> str:
    """The one block of a runbook with these words in it, after those before it that set variables.

    `values` are what the runbook leaves to the reader, `overruled` are variables that have another value.
    """
    followed = [
        fill(step.text, values)
        for step in steps(RULES / f"runbooks/{runbook}.md")
        if step.section in ("Diagnosis", "Mitigation") and not step.untried
    ]
    (at,) = (number for number, text in enumerate(followed) if plain(words) in plain(text))
    setting = [text for text in followed[:at] if _SETS.match(text) and not _WRITES.search(text)]
    wrong = [f"{name}={shlex.quote(value)}" for name, value in overruled.items()]
    return "\n".join(("set +e", *setting, *wrong, "set -e", followed[at]))


def run(script: str, kubevirt: ControlPlane, binary: Tools, folder: Path) -> int:
    """What the shell answers; `folder` is the person's home."""
    environment = {
        "PATH": f"{binary('kubectl').parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(kubevirt.kubeconfig()),
        "HOME": str(folder),
    }
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], env=environment, cwd=folder, check=False)
    return done.returncode
