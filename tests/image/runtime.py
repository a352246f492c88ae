"""Runs containers of an image by an OCI runtime (crun), as a node's container engine would. As root.

Not there: cgroups, so no limits of memory and CPU; seccomp profiles, which belong to engines.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import geteuid
from pathlib import Path
from typing import Any

from tests.waiting import wait_until

__all__ = ["Container", "How", "Image", "why_not"]

NEEDED = ("crun", "ip", "nsenter", "setpriv", "umoci", "unshare")
# crun refuses, even to use none, where cgroups of both versions are mounted, as on older systems: so it sees none.
WITHOUT_CGROUPS = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /sys/fs/cgroup && exec "$@"', "sh")
# What an engine gives a container that drops none.
CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "NET_BIND_SERVICE", "SETGID", "SETUID", "SYS_CHROOT")


def why_not() -> str | None:
    """Why no container can be run on this VM, in a sentence; None if one can."""
    if missing := [name for name in NEEDED if shutil.which(name) is None]:
        return f"no container without {', '.join(missing)}: install crun, umoci, iproute2 and util-linux"
    return None if geteuid() == 0 else "no container: only root may run the runtime with another user's ID"


class Image:
    """An OCI layout in a tar file, unpacked."""

    def __init__(self, file: Path, folder: Path) -> None:
        layout = folder / "layout"
        with tarfile.open(file) as tar:
            tar.extractall(layout, filter="data")
        (entry,) = json.loads((layout / "index.json").read_text(encoding="utf-8"))["manifests"]
        self.manifest = self._blob(layout, entry["digest"])
        self.config: dict[str, Any] = self._blob(layout, self.manifest["config"]["digest"])["config"]
        self.layers = [layout / "blobs" / each["digest"].replace(":", "/") for each in self.manifest["layers"]]
        tag = entry["annotations"]["org.opencontainers.image.ref.name"]
        unpacked = folder / "unpacked"
        subprocess.run(["umoci", "unpack", "--image", f"{layout}:{tag}", unpacked], check=True, capture_output=True)
        self.root = unpacked / "rootfs"

    @staticmethod
    def _blob(layout: Path, digest: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((layout / "blobs" / digest.replace(":", "/")).read_bytes())
        return found


@dataclass(frozen=True)
class How:
    """How a container is run; the defaults are what an engine does when it is asked for nothing."""

    args: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)  # besides the image's
    user: tuple[int, int] = (65532, 65532)
    groups: Sequence[int] = ()
    read_only: bool = False
    drops_all: bool = False
    no_new_privileges: bool = False
    mounts: Sequence[tuple[Path, str, bool]] = ()  # from here, to there, read-only
    memory: Sequence[str] = ()  # where a tmpfs is
    network: Path | None = None  # a namespace; without it a container has one of its own, without any address


class Container:
    """One container: `start`, `exec`, `stop`."""

    def __init__(self, image: Image, how: How, name: str, folder: Path) -> None:
        self.name, self.log = name, folder / f"{name}.log"
        self._crun = [*WITHOUT_CGROUPS, "crun", "--cgroup-manager=disabled", f"--root={folder / 'state'}"]
        self._bundle = folder / name
        self._bundle.mkdir()
        (self._bundle / "config.json").write_text(json.dumps(_spec(image, how)), encoding="utf-8")
        self._how = how
        self._child: subprocess.Popen[bytes] | None = None

    def run(self, seconds: float = 60) -> int:
        """Starts it and waits for its end; its exit code."""
        self.start()
        return self.ended(seconds)

    def start(self) -> None:
        with self.log.open("ab") as log:
            command = [*self._crun, "run", f"--bundle={self._bundle}", self.name]
            self._child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(lambda: self._state() == "running" or not self.running, 60, f"{self.name} is started")

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def ended(self, seconds: float) -> int:
        assert self._child is not None
        return self._child.wait(seconds)

    def exec(self, *words: str) -> subprocess.CompletedProcess[str]:
        """As `kubectl exec`: in the container, as its user."""
        options = ["--no-new-privs"] if self._how.no_new_privileges else []  # crun takes the rest from the container
        command = [*self._crun, "exec", *options, self.name, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    def stop(self, grace: float) -> int:
        """SIGTERM; its exit code. subprocess.TimeoutExpired if it needs longer than `grace` seconds."""
        subprocess.run([*self._crun, "kill", self.name, "TERM"], check=True)
        return self.ended(grace)

    def remove(self) -> None:
        subprocess.run([*self._crun, "delete", "--force", self.name], check=False, capture_output=True)
        if self._child is not None:
            self._child.wait(30)

    def says(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def _state(self) -> str:
        done = subprocess.run([*self._crun, "state", self.name], capture_output=True, text=True, check=False)
        return str(json.loads(done.stdout)["status"]) if done.returncode == 0 else ""


def _spec(image: Image, how: How) -> dict[str, Any]:
    capabilities = [] if how.drops_all else [f"CAP_{name}" for name in CAPABILITIES]
    sets = ("bounding", "effective", "inheritable", "permitted", "ambient")
    env = dict(line.split("=", 1) for line in image.config["Env"]) | dict(how.env)
    namespaces: list[dict[str, Any]] = [{"type": kind} for kind in ("pid", "mount", "ipc", "uts", "network")]
    if how.network is not None:
        namespaces[-1]["path"] = str(how.network)
    tmpfs = {"type": "tmpfs", "source": "tmpfs"}
    mounts = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {**tmpfs, "destination": "/dev", "options": ["nosuid", "mode=755", "size=65536k"]},
        {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]},
        *({**tmpfs, "destination": path, "options": ["nosuid", "nodev", "mode=1777"]} for path in how.memory),
        *(
            {"destination": to, "type": "bind", "source": str(here), "options": ["bind", "ro" if fixed else "rw"]}
            for here, to, fixed in how.mounts
        ),
    ]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": how.user[0], "gid": how.user[1], "additionalGids": list(how.groups)},
            "args": list(how.args),
            "env": [f"{name}={value}" for name, value in env.items()],
            "cwd": image.config["WorkingDir"],
            "capabilities": dict.fromkeys(sets, capabilities),
            "noNewPrivileges": how.no_new_privileges,
        },
        "root": {"path": str(image.root), "readonly": how.read_only},
        "mounts": mounts,
        "linux": {"namespaces": namespaces},
    }
