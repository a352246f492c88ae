"""A proxy before the API server that takes a whole request and passes it on when it is told to, whoever still waits.

It serves plain HTTP on loopback, so that it can tell a write from a dry run of it, and asks the API server with the
token that it is given.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import create_default_context

from tests.cluster.apiserver import ApiServer
from tests.waiting import wait_until

__all__ = ["Delaying", "Held"]

_LONGEST = 120


class Held:
    """One request that the proxy has taken whole, and keeps until `pass_on`; `code` is what came of it then."""

    def __init__(self, method: str, path: str, lost: bool) -> None:
        self.method, self.path, self.lost = method, path, lost
        self.code: int | None = None
        self._taken, self._passed = threading.Event(), threading.Event()

    def wait_taken(self) -> None:
        assert self._taken.wait(90), f"no {self.method} of {self.path} came"

    def pass_on(self) -> int:
        """Lets it go on; the status that the API server answers with."""
        self._passed.set()
        wait_until(lambda: self.code is not None, 30, f"an answer to {self.method} {self.path}", every=0.05)
        assert self.code is not None
        return self.code

    def keep(self) -> None:
        """By the proxy: until it is passed on."""
        self._taken.set()
        if not self.lost:
            self._passed.wait(_LONGEST)


class Delaying:
    """`with` starts and ends it. `log` has the writes that came, dry runs too, in their order."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._tls = create_default_context(cafile=str(server.ca_file))
        self._wanted: list[Held] = []
        self._all: list[Held] = []
        self.log: list[tuple[str, str, float]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    def __enter__(self) -> Delaying:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._all:
            each._passed.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)

    def kubeconfig(self, account: str) -> Path:
        """The server's, with this proxy's address in it."""
        config = json.loads(self._server.kubeconfig(account).read_text(encoding="utf-8"))
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{self._http.server_address[1]}"}
        path = self._server.folder / f"{account}.{id(self)}.kubeconfig"
        path.touch(mode=0o600)
        path.write_text(json.dumps(config), encoding="utf-8")
        return path

    def hold(self, method: str, part: str) -> Held:
        """The next write of this method whose path has this in it."""
        return self._expect(Held(method, part, lost=False))

    def lose_answer(self, method: str, part: str) -> Held:
        """It arrives at once, and whoever sent it hears nothing of it."""
        return self._expect(Held(method, part, lost=True))

    def _expect(self, held: Held) -> Held:
        self._wanted.append(held)
        self._all.append(held)
        return held

    def _matching(self, method: str, path: str, body: bytes) -> Held | None:
        if method == "GET":
            return None
        self.log.append((method, path, time.time()))
        if "dryRun" in path or b'"dryRun"' in body:
            return None
        found = next((each for each in self._wanted if each.method == method and each.path in path), None)
        if found is not None:
            self._wanted.remove(found)
        return found

    def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes, str, str]:
        request = urllib.request.Request(self._server.url + path, body or None, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60, context=self._tls) as answer:
                return answer.status, answer.read(), answer.headers["Content-Type"], answer.headers["Date"]
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(), error.headers["Content-Type"], error.headers["Date"]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                held = proxy._matching(self.command, self.path, body)
                if held is not None:
                    held.keep()
                kept = {name: text for name, text in self.headers.items() if name not in ("Host", "Connection")}
                code, content, kind, date = proxy._ask(self.command, self.path, kept, body)
                self.close_connection = True
                if held is not None:
                    held.code = code
                if held is not None and held.lost:
                    return
                with suppress(OSError):  # whoever sent it may have gone
                    self.send_response_only(code)
                    given = {"Date": date, "Content-Type": kind, "Content-Length": str(len(content))}
                    for name, text in {**given, "Connection": "close"}.items():
                        self.send_header(name, text)
                    self.end_headers()
                    self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass  # noqa: N815 # as the base class calls them

            def log_message(self, *_: object) -> None:
                pass

        return Handler
