"""The steward as `steward serve` runs it, with a clock on the turns of its event loop.

A turn is what is done between two looks at what has arrived, the intake in it: so long nobody is answered. SIGUSR1
makes it print the longest since the last one, by CPU and by the wall, and begin anew.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import selectors
import signal
import time
from typing import Any

from exporter.app import assemble, serve
from exporter.config.settings import Config
from exporter.kube.transport import Transport


class TimedSelector(selectors.EpollSelector):
    def __init__(self) -> None:
        super().__init__()
        self._began = time.thread_time(), time.perf_counter()
        self.longest = [0.0, 0.0]  # seconds of CPU, and of the wall

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        cpu, wall = time.thread_time() - self._began[0], time.perf_counter() - self._began[1]
        self.longest = [max(self.longest[0], cpu), max(self.longest[1], wall)]
        ready = super().select(timeout)
        self._began = time.thread_time(), time.perf_counter()
        return ready

    def tell(self) -> None:
        print(json.dumps(self.longest), flush=True)
        self.longest = [0.0, 0.0]


async def _serve(kubeconfig: str, port: int, selector: TimedSelector) -> None:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, selector.tell)
    async with serve(assemble(Transport.from_environment(kubeconfig), Config()), "127.0.0.1", port):
        selector.longest = [0.0, 0.0]  # before, nobody could ask
        await asyncio.Event().wait()


def main(kubeconfig: str, port: int) -> None:
    logging.basicConfig(level=logging.WARNING)
    selector = TimedSelector()

    def loop() -> Any:
        return asyncio.SelectorEventLoop(selector)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(_serve(kubeconfig, port, selector))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kubeconfig")
    parser.add_argument("port", type=int)
    main(**vars(parser.parse_args()))
