"""The sidecar as its users run it: `steward reconcile run` in a process of its own, and the commands of a person."""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from pathlib import Path
from typing import Any

from reconcile.ledger import Entry, Ledger
from tests.cluster.forks import steward
from tests.cluster.process import Process, answers, free_ports
from tests.cluster.sidecar_process import Fork, How
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = ["Sidecar", "steward", "unaimed"]

_AIMED = re.compile(r" --kubeconfig \S+")
COMMAND = (sys.executable, "-m", "exporter")


class Sidecar:
    """One replica. `with` starts it, and ends it with SIGTERM; `kill` ends it with SIGKILL."""

    def __init__(
        self,
        folder: Path,
        kubeconfig: Path,
        exporter: str,
        settings: dict[str, Any] | None = None,
        *,
        ahead: float = 0.0,
        kill_at: str = "",
        stop_at: str = "",
        forked: bool = False,
        skewed: float = 0.0,
        arrives: float = 0.0,
    ) -> None:
        """`settings` are put over those of tests, which do not wait. Its clock is so many seconds `ahead`, and it kills
        itself when it reaches the step `kill_at` of an attempt, or stops itself at `stop_at`. With `forked` it is no
        command that is run, which takes seconds, but a fork; only that may be `skewed`, or have a time in which what is
        not answered `arrives`: see `How`.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.kubeconfig, self.directory = kubeconfig, folder / "ledger"
        self.directory.mkdir(exist_ok=True)
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        self.config = folder / "reconcile.yaml"
        given = {
            "interval": "1s",
            "verifyAfter": "2s",
            "canary": {"enabled": False},
            "listen": f"127.0.0.1:{port}",
            "insecure": True,
            "ledger": {"directory": str(self.directory)},
            "lease": {"namespace": "default", "duration": "15s"},
            "source": {"url": exporter},
            **(settings or {}),
        }
        self.config.write_text(json.dumps(given), encoding="utf-8")  # which is YAML too
        command: list[str | Path] = [*COMMAND, "reconcile", "run", "--config", self.config, "--kubeconfig", kubeconfig]
        if ahead or kill_at:
            own: list[str | Path] = [sys.executable, "-m", "tests.cluster.sidecar_process", self.config, kubeconfig]
            command = [*own, "--ahead", str(ahead), "--kill-at", kill_at]
        self.log = log = folder / "sidecar.log"
        self.fork = Fork(How(self.config, kubeconfig, ahead, kill_at, stop_at, skewed, arrives), log)
        self.process = self.fork if forked or stop_at else Process("sidecar", command, log)

    def __enter__(self) -> Sidecar:
        return self.start()

    def start(self) -> Sidecar:
        self.process.start(lambda: answers(f"{self.url}/healthz"), 60)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stop()

    def plans(self) -> list[Object]:
        with urllib.request.urlopen(f"{self.url}/api/v1/plans", timeout=10) as answer:
            found: list[Object] = json.load(answer)["repairs"]
        return found

    def states(self) -> dict[tuple[str, str], str]:
        """The state of each repair, by its remediation and what it is about."""
        return {(each["remediation"], each.get("target", "")): each["state"] for each in self.plans()}

    def metrics(self) -> str:
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=10) as answer:
            text: str = answer.read().decode()
        return text

    def value(self, sample: str) -> float | None:
        lines = (line.rpartition(" ") for line in self.metrics().splitlines())
        return next((float(value) for name, _, value in lines if name == sample), None)

    def entries(self) -> list[Entry]:
        return list(Ledger.read(self.directory))

    def events(self) -> list[str]:
        return [entry.event.value for entry in self.entries()]

    def __str__(self) -> str:
        """What a test that waits in vain has to know."""
        shown = [
            (each["remediation"], each["state"], each.get("refused"), each.get("blocked")) for each in self.plans()
        ]
        log = self.log.read_text("utf-8", "replace")[-4000:] if self.log.exists() else ""
        return f"repairs: {shown}; ledger: {self.events()}; its log ends with:\n{log}"

    def wait_for(self, event: str, count: int = 1, seconds: float = 60) -> None:
        try:
            wait_until(lambda: self.events().count(event) >= count, seconds, f"{count} times {event}", every=0.1)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; {self}") from error

    def runs_again(self, count: int = 2) -> None:
        """Waits for so many runs: what it does not do in them it does not do."""
        for _ in range(count):
            before = self._last_run()
            wait_until(lambda before=before: self._last_run() > before, 60, "another run", every=0.1)  # type: ignore[misc]

    def _last_run(self) -> float:
        return self.value("kubevirt_steward_repair_last_run_timestamp_seconds") or 0.0


def unaimed(text: str) -> str:
    """What a command prints, with what it says to run next as it would be without a kubeconfig of one's own."""
    return _AIMED.sub("", text)
