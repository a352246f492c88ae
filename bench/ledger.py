"""What a start of the sidecar takes with a ledger of a given number of entries, and what a list of it takes.

`python -m bench.ledger 100000`. A third of the entries are attempts, with whole VMs of six kilobytes before and after,
over 91 days. Each is measured in a process of its own: the time, the processor time, and the most memory beside what
the imports take. The page cache has the files. With `--days 1` all are of one day, and a start has to know them all.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import reconcile.app  # noqa: F401 # what the sidecar imports
from bench.children import environment
from bench.usage import rss
from reconcile.carry_out.outcomes import AttemptOutcomes
from reconcile.cli.ledger_pages import rows
from reconcile.ledger import Ledger, prove
from reconcile.ledger.history import History
from tests.ledgers import ENTRIES_OF_ONE, long_ledger

DAY = 86_400.0


def peak() -> float:
    """The most memory that this process had since it was executed, in MiB; `ru_maxrss` has that of its parent, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def start(directory: Path, now: float) -> int:
    history, following = History(keep=DAY, clock=lambda: now), AttemptOutcomes(keep=DAY)
    with Ledger.open(directory, clock=lambda: now, cluster="c1") as ledger:
        ledger.recall(history=history, following=following)
        history.forget(now)
        return len(history.executed(now - DAY))


def listed(directory: Path, _: float) -> int:
    return len(rows(directory, 0.0, 50))


def verified(directory: Path, _: float) -> int:
    proof = prove(directory)
    assert not proof.wrong, proof.wrong
    return proof.count


WHAT = {"start": start, "list of 50": listed, "verify": verified}


def measured(what: str, directory: Path, now: float) -> dict[str, float]:
    """In this process, which does nothing else."""
    before, began, cpu = rss(), time.perf_counter(), time.process_time()
    found = WHAT[what](directory, now)
    figures = {"found": found, "wall (s)": time.perf_counter() - began, "CPU (s)": time.process_time() - cpu}
    return figures | {"memory, peak (MiB)": peak() - before, "memory (MiB)": rss() - before}


def main(entries: int, days: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "ledger"
        now = long_ledger(directory, entries // ENTRIES_OF_ONE, days=days)
        size = sum(path.stat().st_size for path in directory.iterdir())
        print(f"{entries} entries, {size / 2**20:.0f} MiB, {len(list(directory.glob('*.jsonl')))} files")
        for what in WHAT:
            command = [sys.executable, "-m", "bench.ledger", "--measure", what, str(directory), str(now)]
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment())
            print(what)
            for name, value in json.loads(done.stdout).items():
                print(f"  {name:22} {value:10.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entries", type=int, nargs="?")
    parser.add_argument("--days", type=float, default=91.0)
    parser.add_argument("--measure", nargs=3, metavar=("WHAT", "DIRECTORY", "NOW"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measured(given.measure[0], Path(given.measure[1]), float(given.measure[2]))))
    else:
        main(given.entries, given.days)
