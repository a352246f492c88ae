"""The live path at a given size: time and CPU to sync, memory, cost of an event, time of a scrape.

`python -m bench.live 10000`. The API server runs in its own process. The peer, in another process, does the least that
any client must: the same lists through the same HTTP client, `json.loads`, and the dicts kept.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from demo.command import kubeconfig
from exporter.app import assemble, serve, wait_until_seen
from exporter.kube.client import Client
from exporter.kube.errors import AbsentError
from exporter.kube.timeouts import Timeouts
from exporter.kube.transport import Transport
from tests.evaluation import api_kinds


def cpu() -> float:
    """User and system CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def rss() -> float:
    """Resident memory of this process, in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


@contextmanager
def server(vms: int) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "bench.fleet_server", str(vms)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


async def ours(url: str, process: subprocess.Popen[str], vms: int) -> dict[str, float]:
    assert process.stdin
    assert process.stdout
    with tempfile.TemporaryDirectory() as folder:
        steward = assemble(Transport.from_environment(str(kubeconfig(Path(folder), url))))
        figures = {"rss before (MiB)": rss()}
        began, used = time.monotonic(), cpu()
        async with serve(steward, "127.0.0.1", 0) as address:
            if not await wait_until_seen(steward, 600):
                raise SystemExit("it did not sync within 600 s")
            figures |= {"sync wall (s)": time.monotonic() - began, "sync cpu (s)": cpu() - used, "rss (MiB)": rss()}
            loop = asyncio.get_running_loop()
            for turn in ("open", "close"):
                events, used = _events(steward), cpu()
                process.stdin.write(f"churn {vms}\n")
                process.stdin.flush()
                await loop.run_in_executor(None, process.stdout.readline)
                wanted = vms if turn == "open" else 0
                while _events(steward) < events + vms or sum(1 for _ in steward.engine.findings()) != wanted:
                    await asyncio.sleep(0.02)
                figures[f"per event that {turn}s a finding, cpu (µs)"] = (cpu() - used) / vms * 1e6
                figures |= await loop.run_in_executor(None, _scrape, address, f" with {wanted} findings")
            figures["rss at the end (MiB)"] = rss()
    return figures


def _events(steward: object) -> int:
    return sum(reflector.stats.events for reflector in steward.source.reflectors)  # type: ignore[attr-defined]


def _scrape(address: str, when: str) -> dict[str, float]:
    began = time.monotonic()
    with urllib.request.urlopen(f"{address}/metrics") as answer:
        size = len(answer.read())
    return {f"scrape{when}, wall (s)": time.monotonic() - began, f"scrape{when}, size (MB)": size / 1e6}


async def peer(url: str) -> dict[str, float]:
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        transport = Transport.from_environment(str(kubeconfig(Path(folder), url)))
        client = Client(transport)
        before, used, began = rss(), cpu(), time.monotonic()
        for kind in api_kinds().values():
            with suppress(AbsentError):  # a kind that this API server does not have
                version, rest = await client.served_version(kind), ""
                while True:
                    page = json.loads(await client.page(kind, version, rest, Timeouts().page))
                    kept += page["items"]
                    rest = page["metadata"].get("continue", "")
                    if not rest:
                        break
        figures = {"sync wall (s)": time.monotonic() - began, "sync cpu (s)": cpu() - used}
        began = time.monotonic()
        gc.collect()
        figures |= {"rss before (MiB)": before, "rss (MiB)": rss(), "full gc (s)": time.monotonic() - began}
        await transport.close()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vms", type=int, nargs="?", default=10_000)
    parser.add_argument("--peer", metavar="URL", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        print(json.dumps(asyncio.run(peer(arguments.peer))))
        return
    with server(arguments.vms) as (url, process):
        command = [sys.executable, "-m", "bench.live", "--peer", url]
        theirs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        mine = asyncio.run(ours(url, process, arguments.vms))
    print(f"{arguments.vms} VMs and as many claims")
    for name, value in mine.items():
        against = f"   peer {theirs[name]:10.3f}   ratio {value / theirs[name]:.2f}" if theirs.get(name) else ""
        print(f"  {name:48s} {value:10.3f}{against}")


if __name__ == "__main__":
    main()
