"""A dump of a given size, from files to findings: seconds, CPU, memory.

`python -m bench.offline 10000`. The peers do the least that a script must: the same bytes to dicts, by `json.loads` and
by PyYAML's `CSafeLoader`. Each runs in a process of its own. PyYAML takes minutes: `--peer-share 0.1` gives it a
tenth of the VMs, and its times are multiplied.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from bench.plain_fleet import vms
from bench.usage import cpu, rss


def write(folder: Path, count: int) -> None:
    """As `kubectl get KIND -A -o json` and `-o yaml` print them, one file a kind."""
    kinds: dict[str, list[Any]] = {}
    for each in vms(count):
        kinds.setdefault(each["kind"], []).append(each)
    for output in ("json", "yaml"):
        (folder / output).mkdir(parents=True)
    for kind, items in kinds.items():
        whole = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}
        (folder / "json" / f"{kind}.json").write_text(json.dumps(whole, indent=4), encoding="utf-8")
        with (folder / "yaml" / f"{kind}.yaml").open("w", encoding="utf-8") as file:
            yaml.dump(json.loads(json.dumps(whole)), file, Dumper=yaml.CSafeDumper)


def ours(folder: Path) -> int:
    """Everything that `steward check --from` does, including evaluation, the larger part for JSON."""
    from exporter.config.settings import Config
    from exporter.dump import read_dump

    engine, tally = asyncio.run(read_dump(str(folder), time.time(), Config(), complete=True, progress=lambda _: None))
    assert not engine.unknowns()
    return tally.objects


def reading(folder: Path) -> int:
    """The same without evaluation."""
    from exporter.checks import all_checks
    from exporter.engine.engine import Engine
    from exporter.engine.intake import Intake
    from exporter.offline.files import files
    from exporter.offline.source import OfflineSource

    engine = Engine([], clock=time.time, timer=time.monotonic)
    kinds = dict.fromkeys(kind for check in all_checks() for kind in check.reads)
    source = OfflineSource(kinds, Intake(engine, time.time), complete=True)
    asyncio.run(source.read(files(str(folder))))
    return source.tally.objects


def by_json(folder: Path) -> int:
    return sum(len(json.loads(path.read_bytes())["items"]) for path in folder.iterdir())


def by_yaml(folder: Path) -> int:
    # The C loader; `safe_load` is another ten times slower.
    return sum(len(yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)["items"]) for path in folder.iterdir())


READERS: dict[str, Callable[[Path], int]] = {
    "ours": ours,
    "reading": reading,
    "json.loads": by_json,
    "CSafeLoader": by_yaml,
}


def measure(reader: str, folder: Path) -> dict[str, float]:
    """In a process of its own."""
    command = [sys.executable, "-m", "bench.offline", "--reader", reader, "--folder", str(folder)]
    figures: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return figures


def read(reader: str, folder: Path) -> dict[str, float]:
    import exporter.app  # noqa: F401 # the cost of the import is not measured

    before, began, used = rss(), time.monotonic(), cpu()
    count = READERS[reader](folder)
    return {
        "objects": count,
        "wall (s)": time.monotonic() - began,
        "cpu (s)": cpu() - used,
        "rss before (MiB)": before,
        "rss peak (MiB)": peak(),
        "rss after (MiB)": rss(),
    }


def peak() -> float:
    """Peak resident memory of this process, in MiB."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vms", type=int, nargs="?", default=10_000)
    parser.add_argument("--peer-share", type=float, default=0.1, help="share of the VMs for CSafeLoader; default: 0.1")
    parser.add_argument("--reader", choices=READERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.reader:
        print(json.dumps(read(arguments.reader, arguments.folder)))
        return
    with tempfile.TemporaryDirectory() as name:
        whole, part = Path(name) / "whole", Path(name) / "part"
        write(whole, arguments.vms)
        write(part, max(1, int(arguments.vms * arguments.peer_share)))
        for output, peer, folder in (("json", "json.loads", whole), ("yaml", "CSafeLoader", part)):
            mine, bare, theirs = (
                measure("ours", whole / output),
                measure("reading", whole / output),
                measure(peer, folder / output),
            )
            factor = mine["objects"] / theirs["objects"]
            size = sum(path.stat().st_size for path in (whole / output).iterdir()) / 1e6
            print(f"{arguments.vms} VMs and as many claims as {output.upper()}, {size:.0f} MB; peer {peer}")
            for figure in list(mine)[1:]:
                scaled = theirs[figure] * (factor if "(s)" in figure else 1)
                print(
                    f"  {figure:18s} {mine[figure]:9.2f}   without evaluation {bare[figure]:9.2f}"
                    f"   peer {scaled:9.2f}   ratio {bare[figure] / scaled:.2f}"
                )
            if factor > 1:
                print(f"  the peer read 1/{factor:.0f} of the dump: its times are multiplied, its memory is not")


if __name__ == "__main__":
    main()
