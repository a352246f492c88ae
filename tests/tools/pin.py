"""Writes go.mod and go.sum of one more version of Kubernetes or KubeVirt.

`python -m tests.tools.pin kube-apiserver 1.33.13` writes those of `KUBERNETES=1.33`. The modules of both replace others
by paths of their own repository, which nobody else has. Those that are published beside them are
taken at the version that was published with it, v0.33.13 for Kubernetes v1.33.13; another one is taken as its authors
publish it. Needs Go and a module proxy.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.tools.table import HERE, TOOLS

GO = "1.26.0"


def pin(name: str, version: str) -> Path:
    """The folder that has them, below the folder `name`. Raises CalledProcessError; what Go says is on stderr."""
    tools = [tool for tool in TOOLS.values() if tool.folder == name and tool.version_from]
    parts = tools[0].version.count(".") + 1
    folder = HERE / name / ".".join(version.split(".")[:parts])
    folder.mkdir(exist_ok=True)
    for file in ("go.mod", "go.sum"):
        (folder / file).unlink(missing_ok=True)
    _go(folder, "mod", "init", "tools")
    _go(folder, "mod", "edit", f"-go={GO}")
    module = "/".join(tools[0].package.split("/")[:2])
    for path, target in _replaced(folder, module, version):
        _go(folder, "mod", "edit", "-replace", f"{path}={target}")
    _go(folder, "get", "-tool", *(f"{tool.package}@v{version}" for tool in tools))
    return folder


def _replaced(folder: Path, module: str, version: str) -> list[tuple[str, str]]:
    downloaded = json.loads(_go(folder, "mod", "download", "-json", f"{module}@v{version}"))
    found = re.findall(
        r"^(?:replace|\t)\s*(\S+) => (\S+)(?: (\S+))?$", Path(downloaded["GoMod"]).read_text(), re.MULTILINE
    )
    beside = re.sub(r"^1\.", "0.", version) if module == "k8s.io/kubernetes" else version
    domain = module.partition("/")[0]
    return [
        (path, f"{path}@v{beside}" if to.startswith("./") else f"{to}@{at}")
        for path, to, at in found
        if path.startswith(f"{domain}/") or not to.startswith("./")
    ]


def _go(folder: Path, *words: str) -> str:
    env = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}
    return subprocess.run(["go", *words], cwd=folder, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    print(pin(*sys.argv[1:3]))
