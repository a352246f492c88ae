"""`steward reconcile run` with a clock that is ahead, so that what waits an hour need not, and with an end at one step.

The API server's clock is taken to be ahead as much. One that is `skewed` is ahead of the API server's.

python -m tests.cluster.sidecar_process CONFIG KUBECONFIG --ahead 7200 --kill-at written

`Fork` does the same in a process that is forked off one which has imported everything: that takes no seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from exporter.cli.input.serving import run_until_signalled
from exporter.cli.output.text.logs import log_as
from exporter.config.settings import Config as ExporterConfig
from exporter.kube.transport import Transport
from reconcile.app import run
from reconcile.config.loading import LoadedSidecar, load
from reconcile.plan.remediations import all_remediations
from tests.cluster.forks import FORKS
from tests.waiting import wait_until

__all__ = ["Fork", "How"]


@dataclass(frozen=True)
class How:
    """Its clock is so many seconds `ahead`, as that of the API server is, and `skewed` from that. At a step of an
    attempt it kills or stops itself, by a signal. What is not answered `arrives` within so many seconds, if not 0.
    """

    config: Path
    kubeconfig: Path
    ahead: float = 0.0
    kill_at: str = ""
    stop_at: str = ""
    skewed: float = 0.0
    arrives: float = 0.0


class Fork:
    """One process of its own, with the methods of `tests.cluster.process.Process`."""

    def __init__(self, how: How, log: Path) -> None:
        self._how, self.log = how, log
        self._child: BaseProcess | None = None

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.is_alive()

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    @property
    def stopped(self) -> bool:
        """Whether a signal has stopped it."""
        stat = Path(f"/proc/{self.pid}/stat").read_text("utf-8")
        return stat.rpartition(")")[2].split()[0] == "T"

    def start(self, ready: Callable[[], bool], timeout: float = 60) -> None:
        child = FORKS.Process(target=_forked, args=(self._how, self.log))
        child.start()
        self._child = child
        wait_until(lambda: not child.is_alive() or ready(), timeout, "the sidecar is ready")

    def ended(self, seconds: float = 60) -> int | None:
        """Waits for its end; its exit code, negative for a signal, and None for one that had to be ended."""
        child = self._child
        assert child is not None
        child.join(seconds)
        code = child.exitcode
        self.kill()
        return code

    def proceed(self) -> None:
        assert self.pid is not None
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.join()

    def stop(self, timeout: float = 15) -> None:
        if self._child is not None:
            self._child.terminate()
            self._child.join(timeout)
            self.kill()


def _forked(how: How, log: Path) -> None:
    with log.open("ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    raise SystemExit(_main(how))


def _main(how: How) -> int:
    log_as("info", "logfmt")
    return run_until_signalled(_serve(how))


async def _serve(how: How) -> int:
    loaded = load(all_remediations(), how.config)
    if not isinstance(loaded, LoadedSidecar):
        raise SystemExit(str(loaded))
    stops = [how.stop_at]

    def reached(step: str) -> None:
        if step == how.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        with contextlib.suppress(ValueError):
            stops.remove(step)  # once
            os.kill(os.getpid(), signal.SIGSTOP)

    transport = Transport.from_environment(str(how.kubeconfig))

    def wall() -> float:
        return time.time() + how.skewed

    async with run(
        loaded.config,
        transport,
        ExporterConfig(),
        clock=lambda: wall() + how.ahead,
        wall=wall,
        reached=reached,
        arrives=how.arrives or None,
    ):
        await asyncio.Event().wait()
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=Path)
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("--ahead", type=float, default=0.0)
    parser.add_argument("--kill-at", default="")
    raise SystemExit(_main(How(**vars(parser.parse_args()))))
