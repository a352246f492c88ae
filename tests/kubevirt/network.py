"""A network of its own for a control plane: addresses that nobody else can see, and ports that lead in from here.

A control plane wants addresses for its pods that are not loopback's, since the API server takes no other endpoints. A
network namespace has them without touching the VM's network, and whoever may have a user namespace may have one.

A port of loopback here leads to the same port of loopback there: the listening socket is made here and handed to a
process that runs there, so that one address, and one kubeconfig, is good on both sides.

A namespace has no name and no file; it goes with the last process in it. Those end with the tests, however these end:
the first of them when the pipe to it breaks, the others by a signal from the system at the death of who started them.
That is a thread, strictly: what runs in the namespace is started by a thread that lives as long as it.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from subprocess import PIPE, STDOUT

__all__ = ["Network", "why_not"]

FORWARDER = Path(__file__).with_name("forwarder.py")
NEEDED = ("ip", "unshare", "nsenter", "setpriv")
WAYS = (("unshare", "--net"), ("unshare", "--user", "--map-root-user", "--net"))


def why_not() -> str | None:
    """Why there can be no such network on this VM, in a sentence; None if there can."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        return f"no network namespace without {', '.join(missing)}: install iproute2 and util-linux"
    return None if _way() else "no network namespace: neither root nor user namespaces are allowed here"


def _way() -> tuple[str, ...] | None:
    """The command that runs another one in a namespace of its own: as root, or else in a user namespace."""
    for way in WAYS:
        done = subprocess.run([*way, "ip", "link", "set", "lo", "up"], capture_output=True, timeout=30, check=False)
        if done.returncode == 0:
            return way
    return None


class Network:
    """One namespace, in which `addresses` are its own. `start`, then `stop`; it can't be started again."""

    def __init__(self, addresses: Iterable[str]) -> None:
        self._addresses = tuple(addresses)
        self._first: subprocess.Popen[str] | None = None
        self._forwarders: list[subprocess.Popen[bytes]] = []
        self.within: tuple[str, ...] = ()  # a command that runs the one behind it in the namespace
        self.namespace = Path()  # as a file, for who joins it by that

    def start(self) -> None:
        way = _way()
        if way is None:
            raise RuntimeError(str(why_not()))
        adds = "".join(f"ip address add {address}/32 dev lo; " for address in self._addresses)
        script = f"set -e; ip link set lo up; {adds}echo up; exec cat"
        command = [*way, "sh", "-c", script]
        self._first = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=STDOUT, text=True)
        assert self._first.stdout is not None
        said = self._first.stdout.readline()
        if said != "up\n":
            self.stop()
            raise RuntimeError(f"no network namespace: {said.strip()}")
        there = f"/proc/{self._first.pid}/ns"
        self.namespace = Path(there, "net")
        user = (f"--user={there}/user", "--preserve-credentials") if "--user" in way else ()
        # Both become the command that follows, so that whoever started them can signal it.
        self.within = ("nsenter", *user, f"--net={self.namespace}", "setpriv", "--pdeathsig", "KILL", "--")

    def forward(self, *ports: int) -> None:
        """From now on these ports of loopback lead to those of the same numbers in the namespace."""
        with contextlib.ExitStack() as sockets:
            dependents = {port: sockets.enter_context(socket.create_server(("127.0.0.1", port))) for port in ports}
            pairs = [f"{each.fileno()}:{port}" for port, each in dependents.items()]
            files = [each.fileno() for each in dependents.values()]
            command = [*self.within, sys.executable, "-I", str(FORWARDER), *pairs]
            self._forwarders.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=files))

    def stop(self) -> None:
        for forwarder in self._forwarders:
            forwarder.kill()
            forwarder.wait()
        if self._first is not None:
            self._first.kill()
            self._first.communicate()


if __name__ == "__main__":
    sys.exit(why_not())
