"""A TCP proxy before the API server that can freeze what passes: connections stay open, and nothing arrives."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from pathlib import Path

from tests.cluster.apiserver import ApiServer

__all__ = ["Freezing"]


class Freezing:
    """`with` starts and ends it. After `freeze` no byte passes on any connection of then; `thaw` lets new ones pass."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._port = int(server.url.rpartition(":")[2])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._frozen = threading.Event()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._dead: set[int] = set()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> Freezing:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._listener.close()
        with self._lock:
            for each in self._open:
                _close(each)
        for thread in self._threads:
            thread.join(10)

    def freeze(self) -> None:
        with self._lock:
            self._dead |= {id(each) for each in self._open}
        self._frozen.set()

    def thaw(self) -> None:
        self._frozen.clear()

    def kubeconfig(self, account: str) -> Path:
        """The server's, with this proxy's address in it."""
        config = json.loads(self._server.kubeconfig(account).read_text(encoding="utf-8"))
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        path = self._server.folder / f"{account}.frozen.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(json.dumps(config), encoding="utf-8")
        return path

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._port))
            with self._lock:
                self._open += [near, far]
                if self._frozen.is_set():
                    self._dead |= {id(near), id(far)}
            for here, there in ((near, far), (far, near)):
                thread = threading.Thread(target=self._pass_on, args=(here, there), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _pass_on(self, here: socket.socket, there: socket.socket) -> None:
        try:
            while data := here.recv(65536):
                if id(here) not in self._dead:
                    there.sendall(data)
        except OSError:
            pass
        _close(here)
        _close(there)


def _close(each: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it was closed from the other side
        each.shutdown(socket.SHUT_RDWR)
    each.close()
